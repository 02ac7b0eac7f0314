-- The same object may be on several clusters of an instance.
CREATE TABLE records_of_clusters (
    instance TEXT NOT NULL,
    app TEXT NOT NULL,
    cluster TEXT NOT NULL,
    object TEXT NOT NULL,
    body TEXT NOT NULL,
    PRIMARY KEY (instance, cluster, object)
);
INSERT INTO records_of_clusters (instance, app, cluster, object, body)
    SELECT instance, app, '', object, body FROM records;
DROP TABLE records;
ALTER TABLE records_of_clusters RENAME TO records;
CREATE INDEX records_of_app ON records (instance, app);
