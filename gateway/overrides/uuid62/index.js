'use strict';
// A stub of uuid62. Express Gateway generates an id per request that the router never uses: the request guard creates its own.
exports.v4 = () => '';
