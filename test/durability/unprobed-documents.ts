/**
 * Replaces the function of the program that reads the documents in a separate process: services that are started often
 * read all of them anyway, and here an unreadable page fails the test.
 */
export async function probeDocuments(): Promise<void> {}

export async function recordClosedDocuments(): Promise<void> {}
