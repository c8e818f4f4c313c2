/** Offers to call the endpoint through the server of this page, where its own server does not allow the page. */

import { refresh } from '../state/identity.js';
import { proxy, setProxied } from '../state/proxy.js';

export function ProxyOffer() {
  if (proxy.value === undefined) return null;
  const isUsed = proxy.value === 'used';
  const change = () => {
    setProxied(!isUsed);
    void refresh();
  };
  return (
    <p class="proxy" role="status">
      {isUsed
        ? `Calls are forwarded by ${location.host}. `
        : `${location.host} can forward calls to this server. `}
      <button type="button" class="small" onClick={change}>
        {isUsed ? 'Call directly' : 'Forward calls'}
      </button>
    </p>
  );
}
