-- What queries databases were seen to work on while a trial was measured.

ALTER TABLE sampling ADD COLUMN queries_json TEXT; -- [{unit, text, seen, locked}], those seen most often first
