'use strict';
// A stub for packages that Express Gateway needs only for its generator, proxy and session features. The router uses
// none of these features, so a call is a bug in the router.
module.exports = function unused() {
  throw new Error('this package is overridden: the router does not use the Express Gateway feature that needs it');
};
