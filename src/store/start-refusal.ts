/** Exit statuses of sysexits.h that a supervisor can distinguish. */
export const EXIT_TEMPORARY = 75;
export const EXIT_CONFIGURATION = 78;

/** Thrown if the service must not start on a data folder. The message is one sentence for the operator. */
export class StartRefusal extends Error {
  override readonly name = 'StartRefusal';
  /**
   * Exit status. It is 75 for a temporary obstacle, such as another process that holds the home folder, 78 for an error
   * in the folder or the configuration.
   */
  readonly exitStatus: number;

  constructor(
    exitStatus: typeof EXIT_TEMPORARY | typeof EXIT_CONFIGURATION,
    message: string,
    options: ErrorOptions = {},
  ) {
    super(message, options);
    this.exitStatus = exitStatus;
  }
}
