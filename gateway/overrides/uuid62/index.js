'use strict';
// A stub of uuid62. Express Gateway generates a request id that the router never uses: the router's request guard
// creates the id that the router uses.
exports.v4 = () => '';
