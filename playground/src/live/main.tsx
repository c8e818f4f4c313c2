/** Starts the page. */

import { render } from 'preact';
import { connect } from './connection.js';
import { App } from './ui/app.js';

render(<App />, document.getElementById('app')!);
void connect();
