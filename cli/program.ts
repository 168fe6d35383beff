// Creates the commander program with every command, in the order of the help.

import { Command } from 'commander';
import { productVersion } from '#lib/config/folders.ts';
import { addCollege } from './commands/add-college.ts';
import { addRoute } from './commands/add-route.ts';
import { apply } from './commands/apply.ts';
import { check } from './commands/check.ts';
import { paint } from './output/colours.ts';
import { commandsOf } from './command-tree.ts';
import { completionCommand } from './commands/completion.ts';
import { dump } from './commands/dump.ts';
import { plan } from './commands/plan.ts';
import { eventsCommand } from './commands/events.ts';
import { init } from './commands/init.ts';
import { executionsCommand } from './commands/executions/index.ts';
import { pruneCommand } from './commands/prune.ts';
import { reconcileCommand } from './commands/reconcile.ts';
import { registerCommand } from './commands/register.ts';
import { routes } from './commands/routes.ts';
import { start } from './commands/start.ts';
import { status } from './commands/status.ts';
import { test } from './commands/test.ts';
import { tokenCommand } from './commands/token.ts';
import { programName, toCommand } from './command-definition.ts';
import { workersCommand } from './commands/workers.ts';

/** Returns a new program. The help, the shell completion and the CLI reference are generated from it. */
export function createProgram(): Command {
  const program = new Command(programName)
    .description('Operate the service router: its files, its definitions, its engine.')
    .version(productVersion(), '-V, --version', 'print the version of the service router')
    .addHelpText(
      'after',
      '\nConfiguration is read as the router reads it: property files, profile, environment.\nIn a checkout, use `npm run -s router -- <command>`.',
    )
    .addCommand(toCommand(init))
    .addCommand(toCommand(start))
    .addCommand(toCommand(test))
    .addCommand(toCommand(check))
    .addCommand(toCommand(addRoute))
    .addCommand(toCommand(addCollege))
    .addCommand(toCommand(status))
    .addCommand(toCommand(plan))
    .addCommand(toCommand(apply))
    .addCommand(toCommand(dump))
    .addCommand(toCommand(registerCommand))
    .addCommand(toCommand(routes))
    .addCommand(executionsCommand())
    .addCommand(toCommand(workersCommand))
    .addCommand(toCommand(eventsCommand))
    .addCommand(toCommand(tokenCommand))
    .addCommand(toCommand(reconcileCommand))
    .addCommand(toCommand(pruneCommand))
    .addCommand(toCommand(completionCommand(createProgram)));
  for (const { command } of commandsOf(program)) {
    command.configureHelp({ styleTitle: (title) => paint('heading', title) });
  }
  return program;
}
