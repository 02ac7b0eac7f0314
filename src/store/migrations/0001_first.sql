CREATE TABLE operations (
    id TEXT NOT NULL PRIMARY KEY,
    instance TEXT NOT NULL,
    app TEXT NOT NULL,
    verb TEXT NOT NULL,
    request TEXT NOT NULL,
    reason TEXT NOT NULL,
    actor TEXT NOT NULL,
    commit_id TEXT NOT NULL,
    state TEXT NOT NULL,
    outcome TEXT NOT NULL,
    message TEXT NOT NULL,
    refusal TEXT NOT NULL,
    started BIGINT NOT NULL,
    ended BIGINT NOT NULL
);
CREATE INDEX operations_by_state ON operations (instance, state, started);
CREATE INDEX operations_by_app ON operations (instance, app, started);

CREATE TABLE outcomes (
    operation TEXT NOT NULL,
    position BIGINT NOT NULL,
    body TEXT NOT NULL,
    PRIMARY KEY (operation, position)
);

CREATE TABLE records (
    instance TEXT NOT NULL,
    app TEXT NOT NULL,
    object TEXT NOT NULL,
    body TEXT NOT NULL,
    PRIMARY KEY (instance, object)
);
CREATE INDEX records_by_app ON records (instance, app);

CREATE TABLE app_states (
    instance TEXT NOT NULL,
    app TEXT NOT NULL,
    commit_id TEXT NOT NULL,
    body TEXT NOT NULL,
    PRIMARY KEY (instance, app)
);

CREATE TABLE events (
    position BIGINT NOT NULL PRIMARY KEY,
    instance TEXT NOT NULL,
    app TEXT NOT NULL,
    time BIGINT NOT NULL,
    body TEXT NOT NULL
);
CREATE INDEX events_by_app ON events (instance, app, position);

CREATE TABLE statuses (
    instance TEXT NOT NULL,
    commit_id TEXT NOT NULL,
    context TEXT NOT NULL,
    state TEXT NOT NULL,
    description TEXT NOT NULL,
    changed BIGINT NOT NULL,
    sent TEXT NOT NULL,
    PRIMARY KEY (instance, commit_id, context)
);
CREATE INDEX statuses_by_sent ON statuses (instance, sent);

CREATE TABLE cursors (
    instance TEXT NOT NULL,
    name TEXT NOT NULL,
    value TEXT NOT NULL,
    PRIMARY KEY (instance, name)
);
