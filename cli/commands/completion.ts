// The command `completion`: prints the completion script of a shell.

import { Argument, type Command } from 'commander';
import { describeWords } from './completion/words.ts';
import { bashScript } from './completion/bash.ts';
import { fishScript } from './completion/fish.ts';
import { zshScript } from './completion/zsh.ts';
import type { CommandDefinition } from '../command-definition.ts';

const scripts = { bash: bashScript, zsh: zshScript, fish: fishScript };

/**
 * Returns the command `completion`.
 * @param createProgram returns the program whose commands are completed
 */
export function completionCommand(createProgram: () => Command): CommandDefinition<object> {
  return {
    name: 'completion',
    description: 'Print the script that completes commands, options and their values in a shell.',
    exitCodes: { 0: 'the script was printed', 1: 'error: there is no such shell' },
    examples: [
      { command: 'completion bash', does: 'in ~/.bashrc: eval "$(service-router completion bash)"' },
      { command: 'completion zsh', does: 'in ~/.zshrc, after compinit: eval "$(service-router completion zsh)"' },
      { command: 'completion fish', does: 'in ~/.config/fish/config.fish: service-router completion fish | source' },
    ],
    addOptions: (command) => command.addArgument(new Argument('<shell>', 'the shell').choices(Object.keys(scripts))),
    run: async (_options, { args: [shell = ''] }) => {
      const script = scripts[shell as keyof typeof scripts](describeWords(createProgram()));
      return { exitCode: 0, lines: [script.trimEnd()], json: { ok: true, shell, script } };
    },
  };
}
