-- What came after what is not told by times: a clock may be set back.
ALTER TABLE operations ADD COLUMN position BIGINT NOT NULL DEFAULT 0;
UPDATE operations SET position = rowid;
DROP INDEX operations_by_state;
DROP INDEX operations_by_app;
CREATE INDEX operations_by_position ON operations (instance, position);
CREATE INDEX operations_by_state ON operations (instance, state, position);
CREATE INDEX operations_by_app ON operations (instance, app, position);
