'use strict';
// A stub of uuid62. Express Gateway generates a request id that the router never uses: its request guard creates one.
exports.v4 = () => '';
