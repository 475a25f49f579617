"""From what is known and believed of each picture to the best pictures of a query."""
