-- How the errors of a study's ratios are found: own_pair or all_cases. A study is judged later as it was.
ALTER TABLE study ADD COLUMN errors TEXT NOT NULL DEFAULT 'own_pair';
