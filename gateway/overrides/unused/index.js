'use strict';
// Express Gateway lists these packages for its generator, proxy and session features. The router uses none of them:
// a call that reaches this line is a mistake in our bootstrap.
module.exports = function unused() {
  throw new Error('this package is overridden: the router does not use the Express Gateway feature that needs it');
};
