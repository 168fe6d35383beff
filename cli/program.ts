// The whole command line: every verb in the order in which people meet it. Nothing runs until it is parsed.

import { Command } from 'commander';
import { apply } from './apply.ts';
import { check } from './check.ts';
import { paint } from './colours.ts';
import { commandsOf } from './command-tree.ts';
import { completionVerb } from './completion.ts';
import { dump } from './dump.ts';
import { plan } from './plan.ts';
import { eventsVerb } from './events.ts';
import { executionsCommand } from './executions/index.ts';
import { pruneVerb } from './prune.ts';
import { reconcileVerb } from './reconcile.ts';
import { registerVerb } from './register.ts';
import { readVersion } from './root-dir.ts';
import { routes } from './routes.ts';
import { status } from './status.ts';
import { tokenVerb } from './token.ts';
import { programName, toCommand } from './command-definition.ts';
import { workersVerb } from './workers.ts';

/** A new command line. Its help, its completion and docs/cli.md are all made from it. */
export function createProgram(): Command {
  const program = new Command(programName)
    .description('Operate the service router: its files, its definitions, its engine.')
    .version(readVersion(), '-V, --version', 'print the version of the service router')
    .addHelpText(
      'after',
      '\nConfiguration is read as the router reads it: property files, profile, environment.\nIn a checkout, `npm run -s router -- <command>` runs it.',
    )
    .addCommand(toCommand(check))
    .addCommand(toCommand(status))
    .addCommand(toCommand(plan))
    .addCommand(toCommand(apply))
    .addCommand(toCommand(dump))
    .addCommand(toCommand(registerVerb))
    .addCommand(toCommand(routes))
    .addCommand(executionsCommand())
    .addCommand(toCommand(workersVerb))
    .addCommand(toCommand(eventsVerb))
    .addCommand(toCommand(tokenVerb))
    .addCommand(toCommand(reconcileVerb))
    .addCommand(toCommand(pruneVerb))
    .addCommand(toCommand(completionVerb(createProgram)));
  for (const { command } of commandsOf(program)) {
    command.configureHelp({ styleTitle: (title) => paint('heading', title) });
  }
  return program;
}
