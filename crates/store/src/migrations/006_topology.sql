-- What stands around a runtime, and what became of its parts.

ALTER TABLE study_case ADD COLUMN topology_json TEXT NOT NULL DEFAULT '{}';
ALTER TABLE trial ADD COLUMN parts_json TEXT NOT NULL DEFAULT '[]';
ALTER TABLE trial ADD COLUMN link_json TEXT; -- NULL: nothing between client and front
