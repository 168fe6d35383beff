#!/bin/bash
# Creates one database with its own owner for each program. The image runs this script when it creates its data directory.
set -eu

create_database() {
  psql --username=postgres --no-password --set=ON_ERROR_STOP=1 --set=name="$1" --set=password="$2" <<'SQL'
CREATE ROLE :"name" LOGIN PASSWORD :'password';
CREATE DATABASE :"name" OWNER :"name" ENCODING 'UTF8' TEMPLATE template0;
REVOKE ALL ON DATABASE :"name" FROM PUBLIC;
SQL
}

create_database conductor "$CONDUCTOR_DB_PASSWORD"
if [ -n "${KEYCLOAK_DB_PASSWORD:-}" ]; then create_database keycloak "$KEYCLOAK_DB_PASSWORD"; fi
