-- What Composer's autoloader was in the copies that were served.
ALTER TABLE case_application ADD COLUMN autoloader_json TEXT; -- {developers, class_map}
