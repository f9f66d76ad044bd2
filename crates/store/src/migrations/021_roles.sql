-- What a case is compared for. Before this was kept, all but these could be shipped.
ALTER TABLE study_case ADD COLUMN role TEXT NOT NULL DEFAULT 'candidate';
UPDATE study_case SET role = 'reference' WHERE runtime IN ('go', 'functions-framework-go');
UPDATE study_case SET role = 'not-for-production' WHERE runtime = 'php-cli-server';
