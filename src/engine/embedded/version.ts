// Replaces `src/engine/version.ts`, which reads a file, in the bundle.

/** Version that the package declares, from the build. */
declare const EMBEDDED_VERSION: string;

export const packageVersion = (): string => EMBEDDED_VERSION;
