-- The metric that decides, where it is not the one that follows from the load.
ALTER TABLE study ADD COLUMN metric TEXT;
