"""The collection as a person looks at it: lists of pictures, what can be narrowed down, thumbnails, one picture."""
