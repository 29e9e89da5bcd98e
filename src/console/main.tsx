import './style/layout.css';
import { render } from 'preact';
import { Shell } from './shell/shell.js';
import { replaceInvalidLanguage, startPrinting, startTheme } from './state/appearance.js';
import { startLive } from './state/live.js';
import { followLinks } from './state/location.js';
import { watchPrincipal } from './state/service.js';
import './style/tokens.css';
import './style/base.css';
import './style/print.css';

replaceInvalidLanguage();
startTheme();
startPrinting();
followLinks();
watchPrincipal();
startLive();
render(<Shell />, document.getElementById('app')!); // index.html contains the element
