// Lint rules for code that runs for each request: objects that a request leaves in V8's old generation slow down later
// requests (docs/explanation/adr/0012-keep-requests-out-of-the-old-generation.md).

/**
 * Returns a rule that reports nodes with a message.
 * @param {string} message
 * @param {string} type type of the nodes (ESTree)
 * @param {(node: any) => boolean} matches
 */
const report = (message, type, matches) => ({
  create: (context) => ({
    [type]: (node) => {
      if (matches(node)) context.report({ node, message });
    },
  }),
});

const functions = new Set(['FunctionExpression', 'ArrowFunctionExpression']);

export default {
  meta: { name: 'request-memory' },
  rules: {
    'no-function-in-property': report(
      'Declare the function first: V8 allocates a function assigned directly to a property in its old generation.',
      'AssignmentExpression',
      ({ left, right }) => left.type === 'MemberExpression' && functions.has(right.type),
    ),
    'no-weak-map': report(
      'Use lib/gc/attachment.ts.',
      'NewExpression',
      ({ callee }) => callee.type === 'Identifier' && callee.name === 'WeakMap',
    ),
    'no-abort-signal-any': report(
      'Add a listener to each signal and remove it: a long-lived signal accumulates dependents of every request.',
      'MemberExpression',
      ({ object, property }) => object.name === 'AbortSignal' && property.name === 'any',
    ),
  },
};
