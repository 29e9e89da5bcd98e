// A rule for oxlint that limits the lines of a function without those of its inner functions.
// An arrow function that only returns an object literal has no steps. Like the literal itself, it has no limit.
const ownLines = {
  meta: {
    schema: [{ type: 'integer', minimum: 1 }],
  },
  create(context) {
    const [most] = context.options;
    /** Number of lines in inner functions, per enclosing function. */
    const within = [];
    const openBlock = () => within.push(0);
    const leave = (node) => {
      const lines = node.loc.end.line - node.loc.start.line + 1;
      const own = lines - within.pop();
      // The first line of an inner function also counts for the enclosing function.
      if (within.length > 0) within[within.length - 1] += lines - 1;
      if (node.body.type === 'ObjectExpression') return;
      if (own > most) context.report({ node, message: `The function has ${own} lines; at most ${most} are allowed.` });
    };
    const kinds = ['FunctionDeclaration', 'FunctionExpression', 'ArrowFunctionExpression'];
    return Object.fromEntries(
      kinds.flatMap((kind) => [
        [kind, openBlock],
        [`${kind}:exit`, leave],
      ]),
    );
  },
};

export default { meta: { name: 'sizes' }, rules: { 'own-lines': ownLines } };
