'use strict';
module.exports = require('node:crypto').randomUUID;
