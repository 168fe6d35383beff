// Lint rules: correctness, and limits on the size of files and functions that keep them readable.
import js from '@eslint/js';
import tseslint from 'typescript-eslint';

export default tseslint.config(
  { ignores: ['node_modules/', '.run/', 'dist/', 'gateway/overrides/', 'bench/results/'] },
  js.configs.recommended,
  ...tseslint.configs.strict,
  {
    languageOptions: { globals: { process: 'readonly', console: 'readonly', URL: 'readonly', Buffer: 'readonly' } },
    rules: {
      'max-lines': ['error', { max: 250, skipBlankLines: true, skipComments: true }],
      'max-lines-per-function': ['error', { max: 60, skipBlankLines: true, skipComments: true }],
      'max-params': ['error', 3],
      'no-undef': 'off',
      'no-control-regex': 'off',
      '@typescript-eslint/consistent-type-imports': 'error',
      '@typescript-eslint/no-non-null-assertion': 'error',
      '@typescript-eslint/no-invalid-void-type': 'off',
      '@typescript-eslint/no-unused-vars': ['error', { argsIgnorePattern: '^_', varsIgnorePattern: '^_' }],
    },
  },
  {
    // The CLI is a function: it reaches the process that it runs in only through its `Host`.
    files: ['cli/**/*.ts'],
    ignores: ['cli/main.ts'],
    rules: { 'no-restricted-globals': ['error', 'process', 'console'] },
  },
  {
    // Objects that a request leaves in V8's old generation slow down later requests
    // (docs/explanation/adr/0012-keep-requests-out-of-the-old-generation.md).
    files: ['gateway/**/*.ts', 'plugins/**/*.ts', 'lib/**/*.ts', 'workers/**/*.ts'],
    rules: {
      'no-restricted-syntax': [
        'error',
        {
          selector: 'AssignmentExpression[left.type="MemberExpression"][right.type=/FunctionExpression$/]',
          message:
            'Declare the function first: V8 allocates a function assigned directly to a property in its old generation.',
        },
        { selector: 'NewExpression[callee.name="WeakMap"]', message: 'Use lib/gc/attachment.ts.' },
        {
          selector: 'MemberExpression[object.name="AbortSignal"][property.name="any"]',
          message:
            'Add a listener to each signal and remove it: a long-lived signal accumulates dependents of every request.',
        },
      ],
    },
  },
  {
    // A test file is a list of cases: its `describe` blocks may be long.
    files: ['test/**'],
    rules: {
      'max-lines-per-function': 'off',
      'max-lines': 'off',
      'max-params': 'off',
      '@typescript-eslint/no-non-null-assertion': 'off',
    },
  },
  {
    // A run has one seed (TEST_SEED), so that a failure can be repeated. Unique names come from randomUUID instead.
    files: ['test/**'],
    ignores: ['test/run/properties.ts'],
    rules: {
      'no-restricted-properties': [
        'error',
        { object: 'Math', property: 'random', message: 'Use randomOfRun() from test/run/seed.ts.' },
      ],
      'no-restricted-imports': ['error', { name: 'fast-check', message: 'Use fc from test/run/properties.ts.' }],
    },
  },
);
