"""What the margin methods learn: functions expanded in a kernel between pictures, and classes from their scores."""
