-- The image in which a case's software was installed, where it ran in containers.
ALTER TABLE study_case ADD COLUMN base_image TEXT; -- NULL: in no container, or not kept yet
