#!/usr/bin/env node
import { dispatch } from '#cli/dispatch.js';

process.exitCode = await dispatch(process.argv.slice(2), process.env);
