-- Run once by the image of PostgreSQL, when its volume is made. Foliot's role owns one database and rules nothing else;
-- it is a member of foliot_tenant, the role that sees one tenant's rows (docs/concepts/security.md).
\getenv password DATABASE_PASSWORD
CREATE ROLE foliot_tenant NOLOGIN NOINHERIT;
CREATE ROLE foliot LOGIN PASSWORD :'password';
GRANT foliot_tenant TO foliot;
CREATE DATABASE foliot OWNER foliot;
REVOKE CONNECT ON DATABASE foliot FROM PUBLIC;
