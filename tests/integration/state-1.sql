-- A database as the first schema has it, with two claims: one named by podresources, one not yet.
PRAGMA journal_mode = WAL;
CREATE TABLE claims (  seq INTEGER PRIMARY KEY,  id TEXT NOT NULL UNIQUE,  resource TEXT NOT NULL,  owner TEXT NOT NULL,  pod_namespace TEXT, pod_name TEXT, container TEXT,  since_us INTEGER NOT NULL) STRICT;
CREATE TABLE tokens (  claim INTEGER NOT NULL REFERENCES claims ON DELETE CASCADE,  resource TEXT NOT NULL,  token TEXT NOT NULL,  device TEXT NOT NULL,  PRIMARY KEY (resource, token)) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX tokens_by_claim ON tokens (claim, token);
CREATE TABLE attachments (  claim INTEGER NOT NULL REFERENCES claims ON DELETE CASCADE,  position INTEGER NOT NULL,  netns TEXT NOT NULL,  interface TEXT NOT NULL,  rdma_device TEXT,  addresses TEXT NOT NULL,  gid_index INTEGER NOT NULL,  PRIMARY KEY (claim, position)) STRICT, WITHOUT ROWID;
INSERT INTO claims VALUES (3, '00112233445566aa', 'rdma/hca', 'device-plugin', 'ml', 'train-0', 'main', 1700000000000000);
INSERT INTO claims VALUES (7, '00112233445566bb', 'rdma/hca', 'device-plugin', NULL, NULL, NULL, 1700000001000000);
INSERT INTO tokens VALUES (3, 'rdma/hca', '0000:18:00.0::004', '0000:18:00.0');
INSERT INTO tokens VALUES (3, 'rdma/hca', '0000:18:00.0::900', '0000:18:00.0');
INSERT INTO tokens VALUES (7, 'rdma/hca', '0000:40:00.0::011', '0000:40:00.0');
INSERT INTO attachments VALUES (3, 0, '/run/netns/a', 'net1', 'mlx5_0', '192.0.2.7/24
2001:db8::7/64', 3);
PRAGMA application_id = 1380207937;
PRAGMA user_version = 1;
