//! Mutual TLS: both sides present a certificate, and a method knows who calls it.
//!
//! The certificates are made on the spot; in production they are files from your certificate authority. The server reloads its
//! files when they change.
//!
//! ```text
//! cargo run -p switchboard --features tls --example 07_mutual_tls
//! ```
#![allow(clippy::print_stdout, reason = "an example shows what it does")]

use std::error::Error;
use std::path::{Path, PathBuf};

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair};
use switchboard::server::Server;
use switchboard::tls::{ClientFiles, ClientTls, PeerCertificate, ServerFiles, ServerTls, Trust};
use switchboard::{Code, Context, Dial, ErrorObject, Router};

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let folder = std::env::temp_dir().join(format!("switchboard-example-{}", std::process::id()));
    std::fs::create_dir_all(&folder)?;
    let shown = show(&folder).await;
    std::fs::remove_dir_all(&folder)?;
    shown
}

async fn show(folder: &Path) -> Result<(), Box<dyn Error>> {
    let mut params = CertificateParams::default();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let authority = CertifiedIssuer::self_signed(params, KeyPair::generate()?)?;
    let ca = folder.join("ca.pem");
    std::fs::write(&ca, authority.pem())?;
    let (server_certificate, server_key) = issue(&authority, folder, "127.0.0.1")?;
    let client = issue(&authority, folder, "alice.example")?;

    let who = |(): (), cx: Context| {
        // Clients without a certificate do not get this far.
        let certificate =
            cx.get::<PeerCertificate>().ok_or_else(|| ErrorObject::from_code(Code::UNAUTHORIZED))?;
        Ok::<_, ErrorObject>(certificate.dns_names.clone())
    };
    let files = ServerFiles::new(server_certificate, server_key).with_client_ca(Some(ca.clone()));
    let mut server =
        Server::new(Router::builder().method("who", who).build()?).with_tls(ServerTls::load(files)?);
    server.listen("https://127.0.0.1:0").await?;
    let (url, handle) = (server.urls().next().ok_or("it listens")?, server.handle());
    let serving = tokio::spawn(server.serve());

    let mut files = ClientFiles::default().with_trust(Trust::Authority(ca));
    let stranger = Dial::new(&url)?.with_tls(ClientTls::load(&files)?).connect().await?;
    println!(
        "without a certificate: {:?}",
        stranger.call::<Vec<String>>("who", ()).await.map_err(|e| e.to_string())
    );
    files.certificate = Some(client);
    let alice = Dial::new(&url)?.with_tls(ClientTls::load(&files)?).connect().await?;
    println!("with one: {:?}", alice.call::<Vec<String>>("who", ()).await?);

    handle.shutdown();
    serving.await?;
    Ok(())
}

/// Issues a certificate for a host; returns the files of the certificate and its key.
fn issue(
    authority: &CertifiedIssuer<'_, KeyPair>,
    folder: &Path,
    host: &str,
) -> Result<(PathBuf, PathBuf), Box<dyn Error>> {
    let mut params = CertificateParams::new(vec![host.to_owned()])?;
    params.distinguished_name.push(DnType::CommonName, host);
    let key = KeyPair::generate()?;
    let (certificate_file, key_file) =
        (folder.join(format!("{host}.pem")), folder.join(format!("{host}.key")));
    std::fs::write(&certificate_file, params.signed_by(&key, authority)?.pem())?;
    std::fs::write(&key_file, key.serialize_pem())?;
    Ok((certificate_file, key_file))
}
