// A writable stream that collects its input as text.

import { Writable } from 'node:stream';

export class CollectedOutput extends Writable {
  text = '';

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: () => void): void {
    this.text += chunk.toString('utf8');
    done();
  }
}
