import { z } from 'zod';
import { defineObject } from '../../schema/define-object.js';
import { defineAddress, secretField, storedFields, targetFields, defineTargetKind } from '../target-kind.js';

const url = defineAddress(['sftp'], ({ hostname, username }) =>
  hostname !== '' && username !== '' ? undefined : 'must contain the user and the host: sftp://user@host/folder',
);

export const sftp = defineTargetKind({
  help: 'Folder of an SFTP server with a known host key. The operator allows hosts by `--delivery-hosts`.',
  secret: 'the password, or the private key in PEM or OpenSSH form without a passphrase',
  schema: defineObject(() => ({
    type: z.literal('sftp'),
    ...targetFields,
    url: url.meta({
      description: 'Server, user and folder. The path begins at the root of the server; /~/ is the folder of the user.',
      example: 'sftp://divisor@sftp.acme.example/in',
    }),
    host_key: z
      .string()
      .regex(/^SHA256:[A-Za-z0-9+/]{43}=?$/, { error: 'must be a fingerprint: SHA256: and 43 characters' })
      .meta({
        description:
          'Fingerprint of the host key, as printed by `ssh-keygen -lf`. A server with another key is refused.',
        example: 'SHA256:uNiVztksCsDhcc0u9e8BrrJhl0ekTBVbgA0lL0p9xRE',
      }),
    secret: secretField.meta({ description: 'Password or private key.' }),
    ...storedFields,
  })).meta({ id: 'SftpTarget' }),
});
