// One program for all of them: they share a server and a browser.
import './calls.js';
import './editor.js';
import './streams.js';
import './batches.js';
import './sharing.js';
import './history.js';
import './broken.js';
import './elsewhere.js';
import './login.js';
import './message.js';
import './response.js';
import './diagram.js';
import './lessons.js';
import './reading.js';
import './page.js';
import './access.js';
import './live.js';
