// The release of the engine that this product runs on: coordinates, size and digest.

/** A release of the engine. */
export interface EngineRelease {
  readonly version: string;
  /** Maven coordinates of the self-contained jar: group:artifact:version:type:classifier. */
  readonly coordinates: string;
  /** Folder of the artifact in a Maven repository. */
  readonly repositoryPath: string;
  readonly fileName: string;
  readonly bytes: number;
  readonly sha256: string;
  /** Container image of the same release. */
  readonly image: string;
  /** Oldest major version of Java that runs the release. */
  readonly minJava: number;
}

/** The release in use. */
export const engineRelease: EngineRelease = {
  version: '3.32.1',
  coordinates: 'org.conductoross:conductor-server:3.32.1:jar:boot',
  repositoryPath: 'org/conductoross/conductor-server/3.32.1',
  fileName: 'conductor-server-3.32.1-boot.jar',
  bytes: 457_974_967,
  sha256: 'f3699a34bb72c35c10469a063392e5de4900bc4568c8a4357a711186d6269d3f',
  image: 'conductoross/conductor:3.32.1',
  minJava: 21,
};
