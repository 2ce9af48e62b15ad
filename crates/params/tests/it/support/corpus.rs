//! Texts to start from.

/// Vdbench's own files, and texts that between them use every keyword.
pub(crate) fn corpus() -> Vec<Vec<u8>> {
    let folder = format!("{}/../../fixtures/vdbench", env!("CARGO_MANIFEST_DIR"));
    let paths_in = |folder: String| std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let mut paths: Vec<_> = paths_in(folder.clone()).chain(paths_in(format!("{folder}/files"))).collect();
    paths.sort();
    paths.retain(|path| !path.to_string_lossy().ends_with("expected_runs"));
    let mut out: Vec<Vec<u8>> = paths.iter().filter_map(|path| std::fs::read(path).ok()).collect();
    out.extend(TEXTS.iter().map(|text| text.as_bytes().to_vec()));
    out
}

/// Valid texts.
pub(crate) const TEXTS: &[&str] = &[
    "compratio=2\ncompressionseed=5\npattern=/tmp/p\ndata_errors=(5,10)\nformatsds=yes\nformatxfersize=1m\n\
     histogram=(default,20,40,100-500,100,1m,2s)\nabort_failed_skew=5\nloop=2\nstartcmd=(\"echo hello\",cons)\n\
     endcmd=(\"echo bye\",sum,master)\nport=1\nmisc=(fifo=1)\ndebug=27\n\
     sd=sd1,lun=/tmp/a,size=100m,threads=4,hitarea=2m,offset=4k,align=4k,range=(10,90),openflags=(o_direct,fsync)\n\
     wd=wd1,sd=sd1,xfersize=(4k,25,8k,75),rdpct=70,rhpct=10,whpct=20,seekpct=(poisson,5),range=(0,50)\n\
     rd=rd1,wd=wd1,iorate=(100,200),elapsed=20,warmup=6,interval=2,pause=1,distribution=uniform,maxdata=3\n",
    "sd=default,size=10m,threads=2\nsd=a%02d,lun=/tmp/x*,count=(1,8)\n\
     wd=default,rdpct=50\nwd=wd1,sd=(a01-a04),skew=30,streams=2,seekpct=0\nwd=wd2,sd=a*,seekpct=50,stride=(4k,64k)\nwd=wd3,sd=a05,skew=50,wrpct=10\n\
     rd=default,elapsed=10\nrd=rd1,wd=*,io=max,forxfersize=(4k,8k),forthreads=(1-64,d),forrdpct=(0,50,100)\n\
     rd=rd2,sd=single,iorate=max,xfersize=64k,rdpct=0,seekpct=seq\nrd=rd3,sd=range,iorate=-50\nrd=rd4,sd=setsof3,io=(10,50%,max)\n",
    "sd=sd1,lun=/tmp/a,size=1g\nwd=wd1,sd=sd1,iorate=100,priority=1\nwd=wd2,sd=sd1,priority=2,xfersize=(4k,64k,4k)\n\
     wd=wd3,sd=sd1,priority=3,seekpct=eof,openflags=0x1000\n\
     rd=rd1,wd=wd*,iorate=1000,elapsed=1h,interval=1m\nrd=rd2,wd=*,iorate=curve,curve=(10-100,10),stopcurve=5\n\
     rd=rd3,wd=*,iorate=(100,2,500,3),distribution=(d,variable)\nrd=rd4,wd=*,iorate=50,distribution=spike,maxdataread=1g,maxdatawritten=5\n",
    "hd=default,jvms=2,shell=ssh,user=me,vdbench=/opt\nhd=h1,system=localhost\nhd=h2,system=127.0.0.1\n\
     sd=sd_$host,lun=/tmp/$host.#host.#hosts,size=1m\nwd=wd1,sd=sd*,host=h1\nrd=rd1,wd=wd1,iorate=10,elapsed=2\n",
    "dedupratio=2\ndedupunit=4k\ndedupsets=5%\ndeduphotsets=(1,10)\ndedupflipflop=hot\nvalidate=(read_after_write,time)\n\
     journal=(recover,max=1g)\nconcatenatesds=yes\nmonitor=/tmp/m\n\
     sd=sd1,lun=/dev/sdx,openflags=directio,replay=(1,2),journal=/tmp\nwd=wd1,sd=sd1,hotband=(10,20),user=(a)\nrd=rd1,wd=wd1,iorate=max\n",
    "fsd=fsd1,anchor=/tmp/f,depth=2,width=3,files=10,sizes=(4k,50,8k,50),totalsize=90k,wss=10k,shared=no,distribution=all,count=(1,3)\n\
     fwd=default,xfersize=4k,threads=2\nfwd=format,threads=4\nfwd=fwd1,fsd=fsd*,operation=read,fileselect=(poisson,4),fileio=random,stopafter=10%\n\
     fwd=fwd2,fsd=fsd11,rdpct=50,fileio=random,skew=50,openflags=o_sync\nrd=rd1,fwd=fwd*,fwdrate=(10,20),format=(restart,only),elapsed=5,fordepth=(1,2),foroperations=(read,write)\n\
     rd=rd2,fwd=fwd*,fwdrate=max,format=(restart,directories),operations=read,forsizes=(10k,2m)\n",
    "create_anchors=yes\ncompratio=2\nfsd=fsd1,anchor=/tmp/a,depth=2,width=2,files=7,size=8k\nfsd=fsd2,anchor=/tmp/b,depth=2,width=2,files=7,size=8k,openflags=o_direct\n\
     fwd=fwd1,fsd=fsd1,operation=copy,target=fsd2,fileselect=once\nfwd=fwd2,fsd=fsd*,operation=write,fileio=(sequential,delete),stopafter=3,threads=9\n\
     rd=rd1,fwd=fwd1,fwdrate=100,format=yes\nrd=rd2,fwd=fwd2,fwdrate=curve,curve=(50,100),format=(clean,only)\n\
     rd=rd3,fsd=fsd1,fwdrate=(10,50%),files=(3,4),format=(yes,once),totalsize=16k,wss=8k\nrd=rd4,fwd=fwd2,fwdrate=max,operations=(read,mkdir,create)\nrd=rd5,fwd=fwd2,fwdrate=max,format=(no,complete)\n",
    "fsd=fsd1,anchor=/tmp/a,depth=2,width=2,files=7,size=8k\nfwd=default,xfersize=16k,threads=2,fdatasync=10\n\
     fwd=fwd1,fsd=fsd1,flow=(create,append:4k-64k,fsync,close,next,open,readfile:1m,close,next,delete),skew=50\n\
     fwd=fwd2,fsd=fsd1,operation=rename,fileselect=random\nfwd=fwd3,fsd=fsd1,operation=write,fsync=3\n\
     rd=rd1,fwd=(fwd1,fwd2),fwdrate=100,format=yes\nrd=rd2,fwd=fwd3,fwdrate=(10,max),foroperations=(write,append,mmapwrite)\n\
     rd=rd3,fwd=(fwd2,fwd3),fwdrate=max,operations=(getxattr,write,temp)\n",
    "sd=sd1,lun=/tmp/a,size=1g\nwd=wd1,sd=sd1,trimpct=10,flushpct=1,fsync_every=32,fdatasync_every=8,thinktime=10ms\n\
     wd=wd2,sd=sd1,random_distribution=zipf:1.2\nwd=wd3,sd=sd1,random_distribution=(normal,20)\nwd=wd4,sd=sd1,coverage=exact\n\
     rd=rd1,wd=*,iorate=max,interval=0.5,elapsed=5s,maxops=1000,forhitarea=1m,forcompratio=(1,2),forcompression=(50,100)\n",
    "rd=default,interval=0.5,prepare=\"sync; echo {n}\"\nrd=ssl,cmd=\"openssl speed -multi {threads} -n {n}\",forthreads=(1,2,4),\
     vary=(n,1,12),times=5,warmups=1\nrd=two,cmd=(\"A=b sort -S {n}m big\",\"/usr/bin/sort {n}{n}\",\"gzip\"),vary=(n,1m,64m),elapsed=10,times=max\n\
     rd=one,cmd=\"ls ${n} {x} {n}\",vary=(n,\"a b\",\"\"),baseline=no\n",
    "sd=sd1,lun=/tmp/a,size=1g\nwd=rsync,sd=sd1\nrd=mail,wd=rsync,iorate=(100,200),elapsed=60,warmup=5,at=(15,30-50,10),\
     cmd=\"rsync --bwlimit={iorate} -a /mail /copy{k}\",baseline=3,vary=(k,1,2,15)\nrd=c,wd=rsync,iorate=curve,elapsed=20,at=1s,cmd=ls\n\
     rd=d,sd=sd1,iorate=max,cmd=\"true\",times=3,baseline=2\n",
];

/// fio's job files.
pub(crate) fn job_files() -> Vec<Vec<u8>> {
    let folder = format!("{}/../../fixtures/fio/malformed", env!("CARGO_MANIFEST_DIR"));
    let mut paths: Vec<_> =
        std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
    paths.sort();
    let mut out: Vec<Vec<u8>> = paths.iter().filter_map(|path| std::fs::read(path).ok()).collect();
    // Valid ones are the better start.
    (0..3).for_each(|_| out.extend(JOBS.iter().map(|text| text.as_bytes().to_vec())));
    out
}

/// Valid job files.
pub(crate) const JOBS: &[&str] = &[
    "[global]\ndirectory=/tmp:/var/tmp\nsize=64m\nbs=4k,64k\ndirect=1\nioengine=libaio\niodepth=8\niodepth_low=2\n\
     [fill]\nrw=write:8k\nend_fsync\n[mix]\nstonewall\nrw=randrw\nrwmixread=70\nruntime=2m\ntime_based\nnumjobs=3\n\
     rate_iops=1000,500\nrate_process=poisson\nmax_latency=50ms\nrate_min=1m\n[late]\nwait_for=mix\nstartdelay=1-5\n",
    "[a]\nfilename=/dev/sda:/dev/sdb\nrw=randread\noffset=10%\nsize=20%\noffset_increment=5%\nnumjobs=4\nloops=3\n\
     random_distribution=zipf:1.2\nbssplit=4k/50:8k/30:64k\nfile_service_type=random:4\ncpus_allowed=0-3\ncpus_allowed_policy=split\n\
     [b]\nfilename=/tmp/x\nfilesize=1m-10m\nrw=trimwrite\nthinktime=10ms\nthinktime_iotime=1s\nflow=8\nflow_id=1\nprio=4\nnice=-5\n\
     steadystate=iops:5%\nss_dur=60\n",
    "[global]\nkb_base=1000\nsize=((2+3)*10m)\nfilename_format=x.$jobname.$jobnum.$filenum\nnrfiles=4\n\
     [c]\nrw=randwrite\nbsrange=4k-64k\nbuffer_pattern=0xdeadbeef\"abc\"12\nfsync=8\nfdatasync=3\nrandom_distribution=zoned_abs:50/1m:50/9m\n\
     latency_target=2ms\nlatency_window=5s\nlatency_percentile=99.9\nnumber_ios=10k\nbuffer_compress_percentage=40\nexec_prerun=sync\n\
     [d]\nnew_group\nrw=randread\npercentage_random=50,50\nioengine=null\nfail_if=errors > 0\n",
    "[global]\ndirectory=/tmp\nexitall\nexit_what=stonewall\ncontinue_on_error=io\nioengine=libaio\niodepth=4\n\
     [e]\nrw=write\nfill_device\nserialize_overlap\n\
     [f]\nnew_group\nsize=1m\nrw=read\npre_read\nignore_error=EIO:ENOSPC,,84\nmax_latency=0,50ms\n\
     [g]\nstonewall\nsize=1m\nrw=write\ncreate_only\nexitall_on_error\n",
];
