import { z } from 'zod';
import { defineObject } from '../../schema/define-object.js';
import { defineAddress, storedFields, targetFields, defineTargetKind } from '../target-kind.js';

const url = defineAddress(['file'], ({ host, pathname }) =>
  host === '' && pathname !== '/' ? undefined : 'must be file:/// and the absolute path of a folder',
);

export const folder = defineTargetKind({
  help: 'Folder on the machine, or a mounted folder. The operator allows folders by `--delivery-roots`.',
  secret: undefined,
  schema: defineObject(() => ({
    type: z.literal('folder'),
    ...targetFields,
    url: url.meta({ description: 'Folder.', example: 'file:///srv/delivery/acme' }),
    ...storedFields,
  })).meta({ id: 'FolderTarget' }),
});
