// The ops CLI: `npm run -s router -- <verb>`.

import { Command } from 'commander';
import { check } from './check.ts';
import { registerVerb } from './register.ts';
import { status } from './status.ts';
import { toCommand } from './verb.ts';

const program = new Command('router')
  .description('Operate the service router: check its files, register its definitions, look at its engine.')
  .addCommand(toCommand(check))
  .addCommand(toCommand(registerVerb))
  .addCommand(toCommand(status))
  .addHelpText('after', '\nConfiguration is read as the router reads it: property files, profile, environment.');

await program.parseAsync();
