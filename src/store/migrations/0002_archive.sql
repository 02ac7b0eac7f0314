CREATE TABLE archive (
    instance TEXT NOT NULL,
    app TEXT NOT NULL,
    operation TEXT NOT NULL,
    object TEXT NOT NULL,
    uid TEXT NOT NULL,
    time BIGINT NOT NULL,
    bytes BIGINT NOT NULL,
    body TEXT NOT NULL,
    PRIMARY KEY (instance, app, object, uid)
);
CREATE INDEX archive_by_time ON archive (instance, app, time);

CREATE TABLE volumes (
    instance TEXT NOT NULL,
    app TEXT NOT NULL,
    uid TEXT NOT NULL,
    body TEXT NOT NULL,
    PRIMARY KEY (instance, app, uid)
);
