#!/usr/bin/env node
import { bundlePath } from './bundle.js';
import { compiledBefore } from './code-cache.js';

const { dispatch } =
  compiledBefore() ??
  ((await import(bundlePath('dispatch') ?? '#cli/dispatch.js')) as typeof import('#cli/dispatch.js'));

process.exitCode = await dispatch(process.argv.slice(2), process.env);
