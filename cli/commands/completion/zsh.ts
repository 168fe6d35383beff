// Generates the completion script for zsh, with descriptions.

import { programName } from '../../command-definition.ts';
import type { CommandWords, OptionValue, Word } from './words.ts';

/** Returns a script to be evaluated in ~/.zshrc after compinit, or saved as `_service_router` on the fpath. */
export function zshScript(commands: readonly CommandWords[]): string {
  const paths = commands.map(({ path }) => path).filter((path) => path !== '');
  return `#compdef ${programName}
# Completion of ${programName} for zsh; made by \`completion zsh\`.
_service_router() {
  local current="\${words[CURRENT]}" previous="\${words[CURRENT-1]}" place='' i
  local -a plain flags
  for ((i = 2; i < CURRENT; i++)); do
    case "$place/\${words[i]}" in
      (${paths.join('|')}) place="$place/\${words[i]}" ;;
    esac
  done
  case "$place $previous" in
${commands.flatMap(({ path, optionValues }) => optionValues.map((option) => valueCase(path, option))).join('\n')}
  esac
  case "$place" in
${commands.map(wordsCase).join('\n')}
  esac
  if [[ "$current" == -* || \${#plain} -eq 0 ]]; then
    _describe -o option flags
  else
    _describe command plain
  fi
}
if [ "$funcstack[1]" = "_service_router" ]; then
  _service_router "$@"
else
  compdef _service_router ${programName}
fi
`;
}

function valueCase(path: string, { flags, value }: OptionValue): string {
  const pattern = flags.map((flag) => quote(`${path} ${flag}`)).join('|');
  return `    (${pattern}) ${completeValue(value)} return ;;`;
}

function completeValue(value: OptionValue['value']): string {
  if (value === 'unknown') return '';
  if (value === 'file') return '_files;';
  if (value === 'directory') return '_files -/;';
  return `compadd -- ${value.words.map(quote).join(' ')};`;
}

function wordsCase({ path, commands, values, options }: CommandWords): string {
  const plain = [...commands, ...values].map(describe).join(' ');
  return `    (${quote(path)}) plain=(${plain}); flags=(${options.map(describe).join(' ')}) ;;`;
}

function describe({ text, description }: Word): string {
  return quote(`${text.replaceAll(':', '\\:')}:${description}`);
}

function quote(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
