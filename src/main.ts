#!/usr/bin/env node
import { findBundlePath } from './bundle.js';
import { loadCompiledScript } from './code-cache.js';

const { dispatch } =
  loadCompiledScript() ??
  ((await import(findBundlePath('dispatch') ?? '#cli/dispatch.js')) as typeof import('#cli/dispatch.js'));

process.exitCode = await dispatch(process.argv.slice(2), process.env);
