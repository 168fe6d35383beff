'use strict';
exports.v4 = require('./v4.js');
