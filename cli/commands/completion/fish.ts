// Generates the completion script for fish, with descriptions.

import { programName } from '../../command-definition.ts';
import type { CommandWords, Word } from './words.ts';

/** Returns a script to be sourced in config.fish, or saved as completions/service-router.fish. */
export function fishScript(commands: readonly CommandWords[]): string {
  const paths = commands.map(({ path }) => path).filter((path) => path !== '');
  return `# Completion of ${programName} for fish; made by \`completion fish\`.
function __service_router_at
    set -l place ''
    for word in (commandline -opc)[2..-1]
        switch "$place/$word"
            case ${paths.map(quote).join(' ')}
                set place "$place/$word"
        end
    end
    test "$place" = "$argv[1]"
end
complete -c ${programName} -f
${commands.flatMap(linesOf).join('\n')}
`;
}

function linesOf({ path, commands, values, options, optionValues }: CommandWords): string[] {
  const start = `complete -c ${programName} -n ${quote(`__service_router_at ${quote(path)}`)}`;
  const word = ({ text, description }: Word) => `${start} -a ${quote(text)} -d ${quote(description)}`;
  const option = ({ text, description }: Word) => {
    const value = optionValues.find(({ flags }) => flags.includes(text))?.value;
    const flag = text.startsWith('--') ? `-l ${text.slice(2)}` : `-s ${text.slice(1)}`;
    return [start, flag, argumentsOf(value), `-d ${quote(description)}`].filter((part) => part !== '').join(' ');
  };
  return [...commands.map(word), ...values.map(word), ...options.map(option)];
}

function argumentsOf(value: CommandWords['optionValues'][number]['value'] | undefined): string {
  if (value === undefined) return '';
  if (value === 'unknown') return '-x';
  if (value === 'file') return '-r -F';
  if (value === 'directory') return `-x -a ${quote('(__fish_complete_directories)')}`;
  return `-x -a ${quote(value.words.join(' '))}`;
}

function quote(text: string): string {
  return `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;
}
