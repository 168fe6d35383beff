// The release of Keycloak that the opt-in suites run: the version of the image in deploy/keycloak/.

export const keycloakRelease = {
  version: '26.7.3',
  /** Maven coordinates of the distribution: group:artifact:version:type. */
  coordinates: 'org.keycloak:keycloak-quarkus-dist:26.7.3:tar.gz',
  /** Folder of the artifact in a Maven repository. */
  repositoryPath: 'org/keycloak/keycloak-quarkus-dist/26.7.3',
  fileName: 'keycloak-quarkus-dist-26.7.3.tar.gz',
  bytes: 176_448_763,
  sha256: '77657f30b7e90d70f727712ce1c967f430fd6a5e9f458d32d8c6df0635345f47',
  /** The only folder in the unpacked archive. */
  folder: 'keycloak-26.7.3',
  /** Oldest major version of Java that runs Keycloak without a warning. */
  minJava: 21,
} as const;
