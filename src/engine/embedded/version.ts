// Replaces `src/engine/version.ts`, which reads a file, in the bundle.

/** Version in the package file, inserted by the build. */
declare const EMBEDDED_VERSION: string;

export const readPackageVersion = (): string => EMBEDDED_VERSION;
