/** Exports the parts of packages that delivery needs. They are loaded with the first delivery by SFTP or mail. */
export { Client } from 'ssh2';
export { createTransport } from 'nodemailer';
