-- What answers must be, of a study that asks for it: p99<100ms,errors<0.1%.
ALTER TABLE study ADD COLUMN slo TEXT;
