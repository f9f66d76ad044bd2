-- What a cluster's own autoscaler wanted from when on; NULL: not kept yet.
ALTER TABLE scaling ADD COLUMN decisions_json TEXT; -- [{at, wanted, used}]
