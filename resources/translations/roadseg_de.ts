<?xml version="1.0" encoding="utf-8"?>
<!DOCTYPE TS>
<TS version="2.1" language="de" sourcelanguage="en">
<context>
    <name>RoadSeg</name>
    <message>
        <source>Runtime</source>
        <translation>Laufzeitumgebung</translation>
    </message>
    <message>
        <source>Set up runtime</source>
        <translation>Laufzeitumgebung einrichten</translation>
    </message>
    <message>
        <source>install,python,environment,pip,dependencies,pytorch,torch</source>
        <translation>installieren,einrichten,python,umgebung,pip,abhängigkeiten,pytorch,torch</translation>
    </message>
    <message>
        <source>Packages</source>
        <translation>Pakete</translation>
    </message>
    <message>
        <source>Extra index URL</source>
        <translation>URL eines zusätzlichen Paketindex</translation>
    </message>
    <message>
        <source>Index URL</source>
        <translation>URL des Paketindex</translation>
    </message>
    <message>
        <source>Folder of wheels</source>
        <translation>Ordner mit Wheel-Paketen</translation>
    </message>
    <message>
        <source>Also install</source>
        <translation>Zusätzlich installieren</translation>
    </message>
    <message>
        <source>Rebuild</source>
        <translation>Neu aufbauen</translation>
    </message>
    <message>
        <source>Base Python</source>
        <translation>Zugrunde liegendes Python</translation>
    </message>
    <message>
        <source>The runtime's Python</source>
        <translation>Python der Laufzeitumgebung</translation>
    </message>
    <message>
        <source>Versions</source>
        <translation>Versionen</translation>
    </message>
    <message>
        <source>Profile this computer</source>
        <translation>Rechner profilieren</translation>
    </message>
    <message>
        <source>performance,speed,benchmark,bottleneck,roofline,flame graph,trace,cpu,memory bandwidth,optimize</source>
        <translation>leistung,geschwindigkeit,benchmark,engpass,roofline,flammengraph,trace,cpu,prozessor,speicherbandbreite,optimieren</translation>
    </message>
    <message>
        <source>Image</source>
        <translation>Bild</translation>
    </message>
    <message>
        <source>What to profile</source>
        <translation>Was zu profilieren ist</translation>
    </message>
    <message>
        <source>Model</source>
        <translation>Modell</translation>
    </message>
    <message>
        <source>Time (s)</source>
        <translation>Zeit (s)</translation>
    </message>
    <message>
        <source>Try the advice</source>
        <translation>Ratschläge ausprobieren</translation>
    </message>
    <message>
        <source>Threads</source>
        <translation>Threads</translation>
    </message>
    <message>
        <source>Chip size (px)</source>
        <translation>Größe der Bildchips (px)</translation>
    </message>
    <message>
        <source>Batch size</source>
        <translation>Batchgröße</translation>
    </message>
    <message>
        <source>Gradient accumulation</source>
        <translation>Gradientenakkumulation</translation>
    </message>
    <message>
        <source>Recompute activations</source>
        <translation>Aktivierungen neu berechnen</translation>
    </message>
    <message>
        <source>Optimizer</source>
        <translation>Optimierer</translation>
    </message>
    <message>
        <source>Frozen stages</source>
        <translation>Eingefrorene Stufen</translation>
    </message>
    <message>
        <source>Batch norm</source>
        <translation>Batch-Normalisierung</translation>
    </message>
    <message>
        <source>Engine</source>
        <translation>Engine</translation>
    </message>
    <message>
        <source>Precision</source>
        <translation>Präzision</translation>
    </message>
    <message>
        <source>Tile size (px)</source>
        <translation>Kachelgröße (px)</translation>
    </message>
    <message>
        <source>Report</source>
        <translation>Bericht</translation>
    </message>
    <message>
        <source>Profile</source>
        <translation>Profil</translation>
    </message>
    <message>
        <source>Trace</source>
        <translation>Trace</translation>
    </message>
    <message>
        <source>Time of a step (s)</source>
        <translation>Zeit je Schritt (s)</translation>
    </message>
    <message>
        <source>Images per second</source>
        <translation>Bilder pro Sekunde</translation>
    </message>
    <message>
        <source>Fraction of the processor's peak</source>
        <translation>Anteil an der Spitzenleistung des Prozessors</translation>
    </message>
    <message>
        <source>Unaccounted fraction of the step</source>
        <translation>Nicht zugeordneter Anteil des Schritts</translation>
    </message>
    <message>
        <source>Profiling overhead, as a fraction of the step</source>
        <translation>Mehraufwand des Profilierens, als Anteil des Schritts</translation>
    </message>
    <message>
        <source>Engine used</source>
        <translation>Verwendete Engine</translation>
    </message>
    <message>
        <source>Precision used</source>
        <translation>Verwendete Präzision</translation>
    </message>
    <message>
        <source>Compare profiles</source>
        <translation>Profile vergleichen</translation>
    </message>
    <message>
        <source>performance,speed,benchmark,regression,before,after,faster,slower,difference</source>
        <translation>leistung,geschwindigkeit,benchmark,regression,vorher,nachher,schneller,langsamer,unterschied</translation>
    </message>
    <message>
        <source>Profile after</source>
        <translation>Profil nachher</translation>
    </message>
    <message>
        <source>Profile before</source>
        <translation>Profil vorher</translation>
    </message>
    <message>
        <source>Differences</source>
        <translation>Unterschiede</translation>
    </message>
    <message>
        <source>Time of a step before (s)</source>
        <translation>Zeit je Schritt vorher (s)</translation>
    </message>
    <message>
        <source>Time of a step after (s)</source>
        <translation>Zeit je Schritt nachher (s)</translation>
    </message>
    <message>
        <source>Ratio of the times, after to before</source>
        <translation>Verhältnis der Zeiten, nachher zu vorher</translation>
    </message>
    <message>
        <source>Report a problem</source>
        <translation>Problem melden</translation>
    </message>
    <message>
        <source>bug,error,issue,support,log,versions,diagnostics</source>
        <translation>Fehler,Problem,Meldung,Hilfe,Protokoll,Versionen,Diagnose</translation>
    </message>
    <message>
        <source>Include file paths</source>
        <translation>Dateipfade aufnehmen</translation>
    </message>
    <message>
        <source>Training</source>
        <translation>Training</translation>
    </message>
    <message>
        <source>Create label layers</source>
        <translation>Layer zum Zeichnen anlegen</translation>
    </message>
    <message>
        <source>draw,digitize,annotate,label,area of interest,aoi,new layer,geopackage,form,road</source>
        <translation>zeichnen,digitalisieren,annotieren,beschriften,interessengebiet,aoi,neuer layer,geopackage,formular,straße</translation>
    </message>
    <message>
        <source>Width of a new road (m)</source>
        <translation>Breite einer neuen Straße (m)</translation>
    </message>
    <message>
        <source>Road classes</source>
        <translation>Straßenklassen</translation>
    </message>
    <message>
        <source>Extent</source>
        <translation>Ausdehnung</translation>
    </message>
    <message>
        <source>Label layers</source>
        <translation>Layer zum Zeichnen</translation>
    </message>
    <message>
        <source>Area of interest</source>
        <translation>Interessengebiet</translation>
    </message>
    <message>
        <source>No road here</source>
        <translation>Keine Straße hier</translation>
    </message>
    <message>
        <source>Fine-tune a model</source>
        <translation>Modell nachtrainieren</translation>
    </message>
    <message>
        <source>train,learn,model,deep learning,neural network,road</source>
        <translation>trainieren,lernen,feinabstimmung,fine-tuning,modell,deep learning,neuronales netz,straße</translation>
    </message>
    <message>
        <source>Images</source>
        <translation>Bilder</translation>
    </message>
    <message>
        <source>Drawn roads</source>
        <translation>Gezeichnete Straßen</translation>
    </message>
    <message>
        <source>Label masks</source>
        <translation>Labelmasken</translation>
    </message>
    <message>
        <source>Road width field</source>
        <translation>Feld der Straßenbreite</translation>
    </message>
    <message>
        <source>Time budget (min)</source>
        <translation>Zeitbudget (min)</translation>
    </message>
    <message>
        <source>Road width (m)</source>
        <translation>Straßenbreite (m)</translation>
    </message>
    <message>
        <source>Base model</source>
        <translation>Basismodell</translation>
    </message>
    <message>
        <source>Resume</source>
        <translation>Fortsetzen</translation>
    </message>
    <message>
        <source>Sure field</source>
        <translation>Feld für sichere Straßen</translation>
    </message>
    <message>
        <source>Road class field</source>
        <translation>Feld der Straßenklasse</translation>
    </message>
    <message>
        <source>Speed field</source>
        <translation>Geschwindigkeitsfeld</translation>
    </message>
    <message>
        <source>Device</source>
        <translation>Gerät</translation>
    </message>
    <message>
        <source>Processes</source>
        <translation>Prozesse</translation>
    </message>
    <message>
        <source>Exchange precision</source>
        <translation>Genauigkeit des Austauschs</translation>
    </message>
    <message>
        <source>Pipeline stages</source>
        <translation>Pipeline-Stufen</translation>
    </message>
    <message>
        <source>Steps</source>
        <translation>Schritte</translation>
    </message>
    <message>
        <source>Sample</source>
        <translation>Stichprobe</translation>
    </message>
    <message>
        <source>Learning rate</source>
        <translation>Lernrate</translation>
    </message>
    <message>
        <source>Encoder learning rate</source>
        <translation>Lernrate des Encoders</translation>
    </message>
    <message>
        <source>Seed</source>
        <translation>Zufalls-Seed</translation>
    </message>
    <message>
        <source>Background distance (m)</source>
        <translation>Abstand für den Hintergrund (m)</translation>
    </message>
    <message>
        <source>Road values</source>
        <translation>Werte für Straße</translation>
    </message>
    <message>
        <source>Ignored values</source>
        <translation>Ignorierte Werte</translation>
    </message>
    <message>
        <source>Pixel size (m)</source>
        <translation>Pixelgröße (m)</translation>
    </message>
    <message>
        <source>Move roads onto the images</source>
        <translation>Straßen auf die Bilder verschieben</translation>
    </message>
    <message>
        <source>Bands</source>
        <translation>Kanäle</translation>
    </message>
    <message>
        <source>Ground resolution (m)</source>
        <translation>Bodenauflösung (m)</translation>
    </message>
    <message>
        <source>Weight interpolation</source>
        <translation>Interpolation der Gewichte</translation>
    </message>
    <message>
        <source>Validation fraction</source>
        <translation>Anteil zur Validierung</translation>
    </message>
    <message>
        <source>Architecture</source>
        <translation>Architektur</translation>
    </message>
    <message>
        <source>Encoder</source>
        <translation>Encoder</translation>
    </message>
    <message>
        <source>Keep the best when stopped</source>
        <translation>Beim Abbrechen das beste Modell behalten</translation>
    </message>
    <message>
        <source>Training steps</source>
        <translation>Trainingsschritte</translation>
    </message>
    <message>
        <source>Validation IoU</source>
        <translation>IoU der Validierung</translation>
    </message>
    <message>
        <source>Validation F1</source>
        <translation>F1 der Validierung</translation>
    </message>
    <message>
        <source>Validation precision</source>
        <translation>Präzision der Validierung</translation>
    </message>
    <message>
        <source>Validation recall</source>
        <translation>Recall der Validierung</translation>
    </message>
    <message>
        <source>Evaluate a model</source>
        <translation>Modell bewerten</translation>
    </message>
    <message>
        <source>score,accuracy,iou,f1,precision,recall,validate,test,deep learning,road</source>
        <translation>bewertung,genauigkeit,iou,f1,präzision,recall,validieren,testen,deep learning,straße</translation>
    </message>
    <message>
        <source>Tolerance (m)</source>
        <translation>Toleranz (m)</translation>
    </message>
    <message>
        <source>Halo</source>
        <translation>Überlappungsrand der Kacheln (Halo)</translation>
    </message>
    <message>
        <source>Memory (GB)</source>
        <translation>Arbeitsspeicher (GB)</translation>
    </message>
    <message>
        <source>Test-time augmentation</source>
        <translation>Test-Time-Augmentation</translation>
    </message>
    <message>
        <source>Threshold</source>
        <translation>Schwellenwert</translation>
    </message>
    <message>
        <source>Grid</source>
        <translation>Pixelgitter</translation>
    </message>
    <message>
        <source>Scores</source>
        <translation>Kennzahlen</translation>
    </message>
    <message>
        <source>IoU</source>
        <translation>IoU</translation>
    </message>
    <message>
        <source>F1</source>
        <translation>F1</translation>
    </message>
    <message>
        <source>Recall</source>
        <translation>Recall</translation>
    </message>
    <message>
        <source>Relaxed F1</source>
        <translation>F1 mit Toleranz</translation>
    </message>
    <message>
        <source>Relaxed precision</source>
        <translation>Präzision mit Toleranz</translation>
    </message>
    <message>
        <source>Relaxed recall</source>
        <translation>Recall mit Toleranz</translation>
    </message>
    <message>
        <source>Threshold with the best F1</source>
        <translation>Schwellenwert mit dem besten F1</translation>
    </message>
    <message>
        <source>F1 at that threshold</source>
        <translation>F1 bei diesem Schwellenwert</translation>
    </message>
    <message>
        <source>Evaluated pixels</source>
        <translation>Bewertete Pixel</translation>
    </message>
    <message>
        <source>Fraction of road pixels</source>
        <translation>Anteil der Straßenpixel</translation>
    </message>
    <message>
        <source>Suggest where to label</source>
        <translation>Vorschlagen, wo zu zeichnen ist</translation>
    </message>
    <message>
        <source>active learning,uncertainty,entropy,annotate,draw,digitize,label,area of interest,road</source>
        <translation>aktives lernen,unsicherheit,entropie,annotieren,zeichnen,digitalisieren,beschriften,interessengebiet,straße</translation>
    </message>
    <message>
        <source>Road probability</source>
        <translation>Straßenwahrscheinlichkeit</translation>
    </message>
    <message>
        <source>Labeled areas</source>
        <translation>Gebiete, in denen schon gezeichnet ist</translation>
    </message>
    <message>
        <source>Number of patches</source>
        <translation>Anzahl der Felder</translation>
    </message>
    <message>
        <source>Patch size (m)</source>
        <translation>Größe eines Feldes (m)</translation>
    </message>
    <message>
        <source>Spread</source>
        <translation>Streuung</translation>
    </message>
    <message>
        <source>Patches to label</source>
        <translation>Felder zum Zeichnen</translation>
    </message>
    <message>
        <source>Number of suggested patches</source>
        <translation>Anzahl vorgeschlagener Felder</translation>
    </message>
    <message>
        <source>Mean uncertainty of the scene</source>
        <translation>Mittlere Unsicherheit der Szene</translation>
    </message>
    <message>
        <source>Export training chips</source>
        <translation>Trainings-Bildchips exportieren</translation>
    </message>
    <message>
        <source>tiles,patches,dataset,training data,coco,stac,esri,arcgis,label,mask,deep learning,road</source>
        <translation>kacheln,ausschnitte,datensatz,trainingsdaten,coco,stac,esri,arcgis,label,maske,deep learning,straße</translation>
    </message>
    <message>
        <source>Format</source>
        <translation>Format</translation>
    </message>
    <message>
        <source>Overlap (px)</source>
        <translation>Überlappung (px)</translation>
    </message>
    <message>
        <source>Minimum labeled fraction</source>
        <translation>Mindestanteil gezeichneter Pixel</translation>
    </message>
    <message>
        <source>Folder</source>
        <translation>Ordner</translation>
    </message>
    <message>
        <source>Number of chips</source>
        <translation>Anzahl der Bildchips</translation>
    </message>
    <message>
        <source>Images with chips</source>
        <translation>Bilder mit Bildchips</translation>
    </message>
    <message>
        <source>Fraction of labeled pixels</source>
        <translation>Anteil der gezeichneten Pixel</translation>
    </message>
    <message>
        <source>Export a model</source>
        <translation>Modell exportieren</translation>
    </message>
    <message>
        <source>onnx,deepness,stac,mlm,share,convert,save,model,road</source>
        <translation>onnx,deepness,stac,mlm,weitergeben,umwandeln,speichern,modell,straße</translation>
    </message>
    <message>
        <source>ONNX model</source>
        <translation>ONNX-Modell</translation>
    </message>
    <message>
        <source>STAC item</source>
        <translation>STAC-Item</translation>
    </message>
    <message>
        <source>File size (MB)</source>
        <translation>Dateigröße (MB)</translation>
    </message>
    <message>
        <source>Quantize a model</source>
        <translation>Modell quantisieren</translation>
    </message>
    <message>
        <source>int8,integer,fast,vnni,amx,onnx,openvino,compress,optimize,model,road</source>
        <translation>int8,ganzzahl,schnell,vnni,amx,onnx,openvino,verkleinern,optimieren,modell,straße</translation>
    </message>
    <message>
        <source>Chips</source>
        <translation>Bildchips</translation>
    </message>
    <message>
        <source>Fraction of pixels with the same class</source>
        <translation>Anteil der Pixel mit gleicher Klasse</translation>
    </message>
    <message>
        <source>IoU of the quantized model, with drawn roads</source>
        <translation>IoU des quantisierten Modells, bei gezeichneten Straßen</translation>
    </message>
    <message>
        <source>IoU in full precision, with drawn roads</source>
        <translation>IoU in voller Präzision, bei gezeichneten Straßen</translation>
    </message>
    <message>
        <source>APLS of the quantized model, with drawn roads</source>
        <translation>APLS des quantisierten Modells, bei gezeichneten Straßen</translation>
    </message>
    <message>
        <source>APLS in full precision, with drawn roads</source>
        <translation>APLS in voller Präzision, bei gezeichneten Straßen</translation>
    </message>
    <message>
        <source>Merge models</source>
        <translation>Modelle zusammenführen</translation>
    </message>
    <message>
        <source>average,federated,fedavg,combine,share,offices,batch normalization,deep learning,model,road</source>
        <translation>mitteln,föderiert,fedavg,verbinden,teilen,ämter,batch-normalisierung,deep learning,modell,straße</translation>
    </message>
    <message>
        <source>Models</source>
        <translation>Modelle</translation>
    </message>
    <message>
        <source>Weights</source>
        <translation>Gewichte</translation>
    </message>
    <message>
        <source>Merged model</source>
        <translation>Zusammengeführtes Modell</translation>
    </message>
    <message>
        <source>Threshold of the merged model</source>
        <translation>Schwellenwert des zusammengeführten Modells</translation>
    </message>
    <message>
        <source>Measured image chips</source>
        <translation>Gemessene Bildchips</translation>
    </message>
    <message>
        <source>Make a scene</source>
        <translation>Szene erzeugen</translation>
    </message>
    <message>
        <source>demo,example,synthetic,generate,procedural,test,image,road</source>
        <translation>demo,beispiel,synthetisch,erzeugen,prozedural,test,bild,straße</translation>
    </message>
    <message>
        <source>Size (px)</source>
        <translation>Größe (px)</translation>
    </message>
    <message>
        <source>Layout</source>
        <translation>Straßenplan</translation>
    </message>
    <message>
        <source>Region</source>
        <translation>Region</translation>
    </message>
    <message>
        <source>Bit depth</source>
        <translation>Bittiefe</translation>
    </message>
    <message>
        <source>Roads</source>
        <translation>Straßen</translation>
    </message>
    <message>
        <source>Number of lines</source>
        <translation>Anzahl der Linien</translation>
    </message>
    <message>
        <source>Total length (m)</source>
        <translation>Gesamtlänge (m)</translation>
    </message>
    <message>
        <source>Segment roads</source>
        <translation>Straßen segmentieren</translation>
    </message>
    <message>
        <source>mask,probability,predict,inference,classification,deep learning,road</source>
        <translation>maske,wahrscheinlichkeit,vorhersage,inferenz,klassifizierung,deep learning,straße</translation>
    </message>
    <message>
        <source>Ground resolution of web maps (m)</source>
        <translation>Bodenauflösung von Webkarten (m)</translation>
    </message>
    <message>
        <source>Road mask</source>
        <translation>Straßenmaske</translation>
    </message>
    <message>
        <source>Megapixels per second</source>
        <translation>Megapixel pro Sekunde</translation>
    </message>
    <message>
        <source>Pixels computed per output pixel</source>
        <translation>Berechnete Pixel je Ausgabepixel</translation>
    </message>
    <message>
        <source>Tile halo (px)</source>
        <translation>Überlappungsrand der Kacheln (px)</translation>
    </message>
    <message>
        <source>Vectorize roads</source>
        <translation>Straßen vektorisieren</translation>
    </message>
    <message>
        <source>center-line,centerline,skeleton,network,graph,line,road</source>
        <translation>mittelachse,straßenachse,skelett,straßennetz,netzwerk,graph,linie,straße</translation>
    </message>
    <message>
        <source>Road mask or probability</source>
        <translation>Straßenmaske oder -wahrscheinlichkeit</translation>
    </message>
    <message>
        <source>Threshold areas</source>
        <translation>Gebiete mit eigenem Schwellenwert</translation>
    </message>
    <message>
        <source>Spur length (m)</source>
        <translation>Länge von Sporen (m)</translation>
    </message>
    <message>
        <source>Longest gap (m)</source>
        <translation>Größte Lücke (m)</translation>
    </message>
    <message>
        <source>Gap angle (degrees)</source>
        <translation>Winkel an Lücken (Grad)</translation>
    </message>
    <message>
        <source>Snap distance (m)</source>
        <translation>Fangabstand (m)</translation>
    </message>
    <message>
        <source>Shortest component (m)</source>
        <translation>Kürzeste Komponente (m)</translation>
    </message>
    <message>
        <source>Simplification (m)</source>
        <translation>Vereinfachung (m)</translation>
    </message>
    <message>
        <source>Hysteresis</source>
        <translation>Hysterese</translation>
    </message>
    <message>
        <source>Widest gap to close (m)</source>
        <translation>Breiteste zu schließende Lücke (m)</translation>
    </message>
    <message>
        <source>Smallest hole (m²)</source>
        <translation>Kleinstes Loch (m²)</translation>
    </message>
    <message>
        <source>Smallest patch (m²)</source>
        <translation>Kleinste Fläche (m²)</translation>
    </message>
    <message>
        <source>Probability in gaps</source>
        <translation>Wahrscheinlichkeit in Lücken</translation>
    </message>
    <message>
        <source>Longest likely gap (m)</source>
        <translation>Längste wahrscheinliche Lücke (m)</translation>
    </message>
    <message>
        <source>Probability of links</source>
        <translation>Wahrscheinlichkeit von Verbindungen</translation>
    </message>
    <message>
        <source>Longest unlikely dead end (m)</source>
        <translation>Längste unwahrscheinliche Sackgasse (m)</translation>
    </message>
    <message>
        <source>Probability of dead ends</source>
        <translation>Wahrscheinlichkeit von Sackgassen</translation>
    </message>
    <message>
        <source>Driving side</source>
        <translation>Straßenseite des Verkehrs</translation>
    </message>
    <message>
        <source>Center lines on roads</source>
        <translation>Linien auf Straßenmitte zentrieren</translation>
    </message>
    <message>
        <source>Nodes</source>
        <translation>Knoten</translation>
    </message>
    <message>
        <source>Links</source>
        <translation>Verbindungen</translation>
    </message>
    <message>
        <source>Likely breaks</source>
        <translation>Mögliche Lücken im Netz</translation>
    </message>
    <message>
        <source>Extract roads</source>
        <translation>Straßen extrahieren</translation>
    </message>
    <message>
        <source>map,network,center-line,centerline,predict,deep learning,road</source>
        <translation>kartieren,straßennetz,mittelachse,straßenachse,vorhersage,deep learning,straße</translation>
    </message>
    <message>
        <source>Map a region</source>
        <translation>Region kartieren</translation>
    </message>
    <message>
        <source>scenes,tiles,mosaic,district,country,cluster,dask,batch,network,center-line,mask,deep learning,road</source>
        <translation>szenen,kacheln,mosaik,bezirk,land,cluster,dask,stapel,netz,mittellinie,maske,deep learning,straße</translation>
    </message>
    <message>
        <source>Scenes</source>
        <translation>Szenen</translation>
    </message>
    <message>
        <source>Folder or index of scenes</source>
        <translation>Ordner oder Index von Szenen</translation>
    </message>
    <message>
        <source>Dates</source>
        <translation>Zeitraum</translation>
    </message>
    <message>
        <source>Largest cloud cover (%)</source>
        <translation>Größte Wolkenbedeckung (%)</translation>
    </message>
    <message>
        <source>Dask scheduler</source>
        <translation>Dask-Scheduler</translation>
    </message>
    <message>
        <source>Workers</source>
        <translation>Arbeitsprozesse</translation>
    </message>
    <message>
        <source>Block size (px)</source>
        <translation>Blockgröße (px)</translation>
    </message>
    <message>
        <source>Number of connected components</source>
        <translation>Anzahl zusammenhängender Komponenten</translation>
    </message>
    <message>
        <source>Number of scenes</source>
        <translation>Anzahl der Szenen</translation>
    </message>
    <message>
        <source>Scenes mapped in this run</source>
        <translation>In diesem Lauf kartierte Szenen</translation>
    </message>
    <message>
        <source>Scenes kept from an earlier run</source>
        <translation>Aus einem früheren Lauf übernommene Szenen</translation>
    </message>
    <message>
        <source>Number of failures</source>
        <translation>Anzahl der Fehlschläge</translation>
    </message>
    <message>
        <source>Scenes outside the area of interest</source>
        <translation>Szenen außerhalb des Interessengebiets</translation>
    </message>
    <message>
        <source>Megapixels mapped</source>
        <translation>Kartierte Megapixel</translation>
    </message>
    <message>
        <source>Line ends at seams without a counterpart</source>
        <translation>Linienenden an Nähten ohne Gegenstück</translation>
    </message>
    <message>
        <source>Index of scenes</source>
        <translation>Szenenindex</translation>
    </message>
    <message>
        <source>Network</source>
        <translation>Straßennetz</translation>
    </message>
    <message>
        <source>Get OpenStreetMap data</source>
        <translation>OpenStreetMap-Daten holen</translation>
    </message>
    <message>
        <source>openstreetmap,osm,overpass,download,extract,highway,river,railway,label,before,line,road</source>
        <translation>openstreetmap,osm,overpass,herunterladen,auszug,straße,fluss,eisenbahn,beschriftung,vorher,linie</translation>
    </message>
    <message>
        <source>OpenStreetMap file</source>
        <translation>OpenStreetMap-Datei</translation>
    </message>
    <message>
        <source>Overpass server</source>
        <translation>Overpass-Server</translation>
    </message>
    <message>
        <source>Login for the server</source>
        <translation>Anmeldung am Server</translation>
    </message>
    <message>
        <source>Bridges</source>
        <translation>Brücken</translation>
    </message>
    <message>
        <source>Water</source>
        <translation>Gewässer</translation>
    </message>
    <message>
        <source>Railways</source>
        <translation>Eisenbahnen</translation>
    </message>
    <message>
        <source>Runways</source>
        <translation>Landebahnen</translation>
    </message>
    <message>
        <source>Places without a road</source>
        <translation>Orte ohne Straße</translation>
    </message>
    <message>
        <source>Downloaded file</source>
        <translation>Heruntergeladene Datei</translation>
    </message>
    <message>
        <source>Number of roads</source>
        <translation>Anzahl der Straßen</translation>
    </message>
    <message>
        <source>Number of bridges</source>
        <translation>Anzahl der Brücken</translation>
    </message>
    <message>
        <source>Number of places without a road</source>
        <translation>Anzahl der Orte ohne Straße</translation>
    </message>
    <message>
        <source>Attribution</source>
        <translation>Quellenangabe</translation>
    </message>
    <message>
        <source>Clean road network</source>
        <translation>Straßennetz bereinigen</translation>
    </message>
    <message>
        <source>topology,gap,snap,junction,dangle,network,graph,line,road</source>
        <translation>topologie,lücke,einrasten,kreuzung,überhang,straßennetz,netzwerk,graph,linie,straße</translation>
    </message>
    <message>
        <source>Lines</source>
        <translation>Linien</translation>
    </message>
    <message>
        <source>Known bridges</source>
        <translation>Bekannte Brücken</translation>
    </message>
    <message>
        <source>Bridge field of the lines</source>
        <translation>Brückenfeld der Linien</translation>
    </message>
    <message>
        <source>Join lines</source>
        <translation>Linien verbinden</translation>
    </message>
    <message>
        <source>Joining distance (m)</source>
        <translation>Knotentoleranz (m)</translation>
    </message>
    <message>
        <source>Junction merging distance (m)</source>
        <translation>Abstand zum Zusammenführen von Kreuzungen (m)</translation>
    </message>
    <message>
        <source>Score a network</source>
        <translation>Straßennetz bewerten</translation>
    </message>
    <message>
        <source>apls,topo,completeness,correctness,quality,accuracy,graph,compare,evaluate,line,road</source>
        <translation>apls,topo,vollständigkeit,korrektheit,qualität,genauigkeit,graph,vergleichen,bewerten,linie,straße</translation>
    </message>
    <message>
        <source>Proposed roads</source>
        <translation>Zu bewertende Straßen</translation>
    </message>
    <message>
        <source>True roads</source>
        <translation>Referenzstraßen</translation>
    </message>
    <message>
        <source>Bridge field of the true roads</source>
        <translation>Brückenfeld der Referenzstraßen</translation>
    </message>
    <message>
        <source>Bridge field of the proposed roads</source>
        <translation>Brückenfeld der zu bewertenden Straßen</translation>
    </message>
    <message>
        <source>Speed field of the true roads</source>
        <translation>Geschwindigkeitsfeld der Referenzstraßen</translation>
    </message>
    <message>
        <source>Speed field of the proposed roads</source>
        <translation>Geschwindigkeitsfeld der zu bewertenden Straßen</translation>
    </message>
    <message>
        <source>Snap distance of APLS (m)</source>
        <translation>Fangabstand für APLS (m)</translation>
    </message>
    <message>
        <source>Tolerance of completeness (m)</source>
        <translation>Toleranz der Vollständigkeit (m)</translation>
    </message>
    <message>
        <source>Speed unit</source>
        <translation>Einheit der Geschwindigkeit</translation>
    </message>
    <message>
        <source>Tolerance of relaxed scores (m)</source>
        <translation>Toleranz der Relaxed-Kennzahlen (m)</translation>
    </message>
    <message>
        <source>Control point spacing of APLS (m)</source>
        <translation>Abstand der Kontrollpunkte von APLS (m)</translation>
    </message>
    <message>
        <source>Radius of TOPO (m)</source>
        <translation>Radius von TOPO (m)</translation>
    </message>
    <message>
        <source>Matching distance of TOPO (m)</source>
        <translation>Zuordnungsabstand von TOPO (m)</translation>
    </message>
    <message>
        <source>Seed spacing of TOPO (m)</source>
        <translation>Abstand der Startpunkte von TOPO (m)</translation>
    </message>
    <message>
        <source>Sampling interval of TOPO (m)</source>
        <translation>Abtastintervall von TOPO (m)</translation>
    </message>
    <message>
        <source>Matched, missed and false</source>
        <translation>Gefunden, übersehen und falsch</translation>
    </message>
    <message>
        <source>APLS by length</source>
        <translation>APLS nach Länge</translation>
    </message>
    <message>
        <source>APLS, truth onto proposal</source>
        <translation>APLS, Referenz auf Vorschlag</translation>
    </message>
    <message>
        <source>APLS, proposal onto truth</source>
        <translation>APLS, Vorschlag auf Referenz</translation>
    </message>
    <message>
        <source>APLS by travel time</source>
        <translation>APLS nach Fahrzeit</translation>
    </message>
    <message>
        <source>TOPO precision</source>
        <translation>Präzision nach TOPO</translation>
    </message>
    <message>
        <source>TOPO recall</source>
        <translation>Recall nach TOPO</translation>
    </message>
    <message>
        <source>TOPO F1</source>
        <translation>F1 nach TOPO</translation>
    </message>
    <message>
        <source>Completeness</source>
        <translation>Vollständigkeit</translation>
    </message>
    <message>
        <source>Correctness</source>
        <translation>Korrektheit</translation>
    </message>
    <message>
        <source>Quality</source>
        <translation>Qualität</translation>
    </message>
    <message>
        <source>Draw an accuracy sample</source>
        <translation>Stichprobe zur Genauigkeit ziehen</translation>
    </message>
    <message>
        <source>accuracy,sample,completeness,correctness,validate,review,quality,check,line,road</source>
        <translation>Genauigkeit,Stichprobe,Vollständigkeit,Korrektheit,prüfen,Qualität,Linie,Straße</translation>
    </message>
    <message>
        <source>Road network</source>
        <translation>Straßennetz</translation>
    </message>
    <message>
        <source>Number of places</source>
        <translation>Anzahl der Stellen</translation>
    </message>
    <message>
        <source>Length of transects (m)</source>
        <translation>Länge der Transekte (m)</translation>
    </message>
    <message>
        <source>Length of stretches (m)</source>
        <translation>Länge der Abschnitte (m)</translation>
    </message>
    <message>
        <source>Random seed</source>
        <translation>Startwert der Zufallszahlen</translation>
    </message>
    <message>
        <source>Accuracy sample</source>
        <translation>Stichprobe zur Genauigkeit</translation>
    </message>
    <message>
        <source>Number of stretches</source>
        <translation>Anzahl der Abschnitte</translation>
    </message>
    <message>
        <source>Number of transects</source>
        <translation>Anzahl der Transekte</translation>
    </message>
    <message>
        <source>Length of the network (m)</source>
        <translation>Länge des Netzes (m)</translation>
    </message>
    <message>
        <source>Area (m²)</source>
        <translation>Fläche (m²)</translation>
    </message>
    <message>
        <source>Check accuracy</source>
        <translation>Genauigkeit prüfen</translation>
    </message>
    <message>
        <source>accuracy,sample,completeness,correctness,confidence interval,validate,review,quality,report,road</source>
        <translation>Genauigkeit,Stichprobe,Vollständigkeit,Korrektheit,Konfidenzintervall,prüfen,Qualität,Bericht,Straße</translation>
    </message>
    <message>
        <source>Judged sample</source>
        <translation>Beurteilte Stichprobe</translation>
    </message>
    <message>
        <source>Accuracy</source>
        <translation>Genauigkeit</translation>
    </message>
    <message>
        <source>Completeness, lower limit</source>
        <translation>Vollständigkeit, untere Grenze</translation>
    </message>
    <message>
        <source>Completeness, upper limit</source>
        <translation>Vollständigkeit, obere Grenze</translation>
    </message>
    <message>
        <source>Correctness, lower limit</source>
        <translation>Korrektheit, untere Grenze</translation>
    </message>
    <message>
        <source>Correctness, upper limit</source>
        <translation>Korrektheit, obere Grenze</translation>
    </message>
    <message>
        <source>Judged places</source>
        <translation>Beurteilte Stellen</translation>
    </message>
    <message>
        <source>Further places for 3 points</source>
        <translation>Weitere Stellen für 3 Punkte</translation>
    </message>
    <message>
        <source>Export a network for routing</source>
        <translation>Straßennetz für Routing exportieren</translation>
    </message>
    <message>
        <source>openstreetmap,josm,osrm,valhalla,osmnx,networkx,graphml,routing,shortest path,graph,network,line,road</source>
        <translation>openstreetmap,josm,osrm,valhalla,osmnx,networkx,graphml,routing,kürzester weg,graph,straßennetz,netzwerk,linie,straße</translation>
    </message>
    <message>
        <source>One-way field of the lines</source>
        <translation>Einbahnfeld der Linien</translation>
    </message>
    <message>
        <source>Class field of the lines</source>
        <translation>Klassenfeld der Linien</translation>
    </message>
    <message>
        <source>Speed field of the lines</source>
        <translation>Geschwindigkeitsfeld der Linien</translation>
    </message>
    <message>
        <source>Components to keep</source>
        <translation>Zu behaltende Komponenten</translation>
    </message>
    <message>
        <source>Reviewed roads only</source>
        <translation>Nur geprüfte Straßen</translation>
    </message>
    <message>
        <source>Graph</source>
        <translation>Graph</translation>
    </message>
    <message>
        <source>Nodes and edges</source>
        <translation>Knoten und Kanten</translation>
    </message>
    <message>
        <source>Number of nodes</source>
        <translation>Anzahl der Knoten</translation>
    </message>
    <message>
        <source>Number of directed edges</source>
        <translation>Anzahl gerichteter Kanten</translation>
    </message>
    <message>
        <source>Compare road networks</source>
        <translation>Straßennetze vergleichen</translation>
    </message>
    <message>
        <source>change,damage,disaster,before,after,lost,detour,route,access,isolated,graph,line,road</source>
        <translation>veränderung,schaden,katastrophe,vorher,nachher,verloren,umweg,route,erreichbarkeit,abgeschnitten,graph,linie,straße</translation>
    </message>
    <message>
        <source>Roads after</source>
        <translation>Straßen nachher</translation>
    </message>
    <message>
        <source>Roads before</source>
        <translation>Straßen vorher</translation>
    </message>
    <message>
        <source>Places</source>
        <translation>Orte</translation>
    </message>
    <message>
        <source>Origins</source>
        <translation>Ausgangspunkte</translation>
    </message>
    <message>
        <source>Confirmed damage</source>
        <translation>Bestätigte Schäden</translation>
    </message>
    <message>
        <source>Name field of the places</source>
        <translation>Namensfeld der Orte</translation>
    </message>
    <message>
        <source>Name field of the origins</source>
        <translation>Namensfeld der Ausgangspunkte</translation>
    </message>
    <message>
        <source>Bridge field of the roads before</source>
        <translation>Brückenfeld der Straßen vorher</translation>
    </message>
    <message>
        <source>Bridge field of the roads after</source>
        <translation>Brückenfeld der Straßen nachher</translation>
    </message>
    <message>
        <source>Speed field of the roads before</source>
        <translation>Geschwindigkeitsfeld der Straßen vorher</translation>
    </message>
    <message>
        <source>Speed field of the roads after</source>
        <translation>Geschwindigkeitsfeld der Straßen nachher</translation>
    </message>
    <message>
        <source>Largest displacement (m)</source>
        <translation>Größter Versatz (m)</translation>
    </message>
    <message>
        <source>Attaching distance (m)</source>
        <translation>Anschlussabstand (m)</translation>
    </message>
    <message>
        <source>Distance of places (m)</source>
        <translation>Fangabstand der Orte (m)</translation>
    </message>
    <message>
        <source>Align</source>
        <translation>Versatz ausgleichen</translation>
    </message>
    <message>
        <source>Routes run on</source>
        <translation>Routen verlaufen auf</translation>
    </message>
    <message>
        <source>Roads outside remain</source>
        <translation>Straßen außerhalb bleiben</translation>
    </message>
    <message>
        <source>Shortest stretch (m)</source>
        <translation>Kürzester Abschnitt (m)</translation>
    </message>
    <message>
        <source>Maximum angle (degrees)</source>
        <translation>Größter Winkel (Grad)</translation>
    </message>
    <message>
        <source>Longer route (%)</source>
        <translation>Längere Route (%)</translation>
    </message>
    <message>
        <source>Changes</source>
        <translation>Veränderungen</translation>
    </message>
    <message>
        <source>Places and their routes</source>
        <translation>Orte und ihre Routen</translation>
    </message>
    <message>
        <source>Statistics</source>
        <translation>Statistik</translation>
    </message>
    <message>
        <source>Intact length (m)</source>
        <translation>Intakte Länge (m)</translation>
    </message>
    <message>
        <source>Intact fraction of the roads before</source>
        <translation>Intakter Anteil der Straßen vorher</translation>
    </message>
    <message>
        <source>Displaced length (m)</source>
        <translation>Versetzte Länge (m)</translation>
    </message>
    <message>
        <source>Displaced fraction of the roads before</source>
        <translation>Versetzter Anteil der Straßen vorher</translation>
    </message>
    <message>
        <source>Lost length (m)</source>
        <translation>Verlorene Länge (m)</translation>
    </message>
    <message>
        <source>Lost fraction of the roads before</source>
        <translation>Verlorener Anteil der Straßen vorher</translation>
    </message>
    <message>
        <source>New length (m)</source>
        <translation>Neue Länge (m)</translation>
    </message>
    <message>
        <source>New fraction of the roads after</source>
        <translation>Neuer Anteil der Straßen nachher</translation>
    </message>
    <message>
        <source>Eastward offset of the roads after (m)</source>
        <translation>Versatz der Straßen nachher nach Osten (m)</translation>
    </message>
    <message>
        <source>Northward offset of the roads after (m)</source>
        <translation>Versatz der Straßen nachher nach Norden (m)</translation>
    </message>
    <message>
        <source>Places cut off</source>
        <translation>Abgeschnittene Orte</translation>
    </message>
    <message>
        <source>Places with a route interrupted only by short gaps</source>
        <translation>Orte mit nur durch kurze Lücken unterbrochener Route</translation>
    </message>
    <message>
        <source>Places with a longer route</source>
        <translation>Orte mit längerer Route</translation>
    </message>
    <message>
        <source>Places with an unchanged route</source>
        <translation>Orte mit unveränderter Route</translation>
    </message>
    <message>
        <source>State of known roads</source>
        <translation>Zustand bekannter Straßen</translation>
    </message>
    <message>
        <source>change,damage,disaster,event,flood,landslide,state,status,lost,blocked,bridge,access,isolated,check,report,before,after,line,road</source>
        <translation>Änderung,Schaden,Katastrophe,Ereignis,Hochwasser,Erdrutsch,Zustand,Status,verloren,gesperrt,Brücke,Erreichbarkeit,abgeschnitten,prüfen,Bericht,vorher,nachher,Linie,Straße</translation>
    </message>
    <message>
        <source>Known roads</source>
        <translation>Bekannte Straßen</translation>
    </message>
    <message>
        <source>Image after</source>
        <translation>Bild nachher</translation>
    </message>
    <message>
        <source>Further images after</source>
        <translation>Weitere Bilder nachher</translation>
    </message>
    <message>
        <source>Image before</source>
        <translation>Bild vorher</translation>
    </message>
    <message>
        <source>Hazards</source>
        <translation>Gefahrengebiete</translation>
    </message>
    <message>
        <source>Clouds</source>
        <translation>Wolken</translation>
    </message>
    <message>
        <source>Sites</source>
        <translation>Standorte</translation>
    </message>
    <message>
        <source>Districts</source>
        <translation>Bezirke</translation>
    </message>
    <message>
        <source>Class field</source>
        <translation>Klassenfeld</translation>
    </message>
    <message>
        <source>Name field of the sites</source>
        <translation>Namensfeld der Standorte</translation>
    </message>
    <message>
        <source>Name field of the districts</source>
        <translation>Namensfeld der Bezirke</translation>
    </message>
    <message>
        <source>Bridge field of the known roads</source>
        <translation>Brückenfeld der bekannten Straßen</translation>
    </message>
    <message>
        <source>Near-infrared band</source>
        <translation>Nahinfrarot-Band</translation>
    </message>
    <message>
        <source>Distance of sites (m)</source>
        <translation>Fangabstand der Standorte (m)</translation>
    </message>
    <message>
        <source>Reach (m)</source>
        <translation>Reichweite (m)</translation>
    </message>
    <message>
        <source>Roads with their state</source>
        <translation>Straßen mit ihrem Zustand</translation>
    </message>
    <message>
        <source>Sites and their paths</source>
        <translation>Standorte und ihre Wege</translation>
    </message>
    <message>
        <source>Offset arrows</source>
        <translation>Pfeile der Versätze</translation>
    </message>
    <message>
        <source>Length that is seen (m)</source>
        <translation>Sichtbare Länge (m)</translation>
    </message>
    <message>
        <source>Length that is partly seen (m)</source>
        <translation>Teilweise sichtbare Länge (m)</translation>
    </message>
    <message>
        <source>Length that is not seen (m)</source>
        <translation>Nicht sichtbare Länge (m)</translation>
    </message>
    <message>
        <source>Length under water (m)</source>
        <translation>Länge unter Wasser (m)</translation>
    </message>
    <message>
        <source>Length in a hazard (m)</source>
        <translation>Länge im Gefahrengebiet (m)</translation>
    </message>
    <message>
        <source>Hidden length (m)</source>
        <translation>Verdeckte Länge (m)</translation>
    </message>
    <message>
        <source>Length outside (m)</source>
        <translation>Länge außerhalb (m)</translation>
    </message>
    <message>
        <source>Mean length of road that a site reaches before (m)</source>
        <translation>Mittlere Länge der Straßen, die ein Standort vorher erreicht (m)</translation>
    </message>
    <message>
        <source>Mean length of road that a site reaches after (m)</source>
        <translation>Mittlere Länge der Straßen, die ein Standort nachher erreicht (m)</translation>
    </message>
    <message>
        <source>Sites cut off</source>
        <translation>Abgeschnittene Standorte</translation>
    </message>
    <message>
        <source>Apply a review</source>
        <translation>Prüfung anwenden</translation>
    </message>
    <message>
        <source>review,accept,reject,correct,merge,status,label,learn,training,line,road</source>
        <translation>Prüfung,annehmen,ablehnen,korrigieren,zusammenführen,Status,Label,lernen,Training,Linie,Straße</translation>
    </message>
    <message>
        <source>Review</source>
        <translation>Prüfung</translation>
    </message>
    <message>
        <source>Other review</source>
        <translation>Andere Prüfung</translation>
    </message>
    <message>
        <source>Roads extracted anew</source>
        <translation>Neu extrahierte Straßen</translation>
    </message>
    <message>
        <source>Reviewed roads</source>
        <translation>Geprüfte Straßen</translation>
    </message>
    <message>
        <source>Accepted stretches</source>
        <translation>Angenommene Abschnitte</translation>
    </message>
    <message>
        <source>Rejected stretches</source>
        <translation>Abgelehnte Abschnitte</translation>
    </message>
    <message>
        <source>Stretches with contradicting answers</source>
        <translation>Abschnitte mit widersprüchlichen Antworten</translation>
    </message>
    <message>
        <source>Judged stretches on no line</source>
        <translation>Beurteilte Abschnitte auf keiner Linie</translation>
    </message>
    <message>
        <source>Length of lines that nobody judged (m)</source>
        <translation>Länge der nicht beurteilten Linien (m)</translation>
    </message>
    <message>
        <source>Length of reviewed lines (m)</source>
        <translation>Länge der geprüften Linien (m)</translation>
    </message>
    <message>
        <source>Length of drawn lines (m)</source>
        <translation>Länge der gezeichneten Linien (m)</translation>
    </message>
    <message>
        <source>Make a MapRoulette challenge</source>
        <translation>MapRoulette-Challenge erstellen</translation>
    </message>
    <message>
        <source>maproulette,openstreetmap,osm,task,challenge,mapper,check,change,break,geojson,road</source>
        <translation>maproulette,openstreetmap,osm,aufgabe,challenge,mapper,prüfen,veränderung,lücke,geojson,straße</translation>
    </message>
    <message>
        <source>Changes, states or likely breaks</source>
        <translation>Veränderungen, Zustände oder mögliche Lücken im Netz</translation>
    </message>
    <message>
        <source>Earlier challenge</source>
        <translation>Frühere Challenge</translation>
    </message>
    <message>
        <source>Extract of OpenStreetMap</source>
        <translation>Auszug aus OpenStreetMap</translation>
    </message>
    <message>
        <source>Displaced roads</source>
        <translation>Versetzte Straßen</translation>
    </message>
    <message>
        <source>Longest stretch (m)</source>
        <translation>Längster Abschnitt (m)</translation>
    </message>
    <message>
        <source>Challenge</source>
        <translation>Challenge</translation>
    </message>
    <message>
        <source>Number of tasks</source>
        <translation>Anzahl der Aufgaben</translation>
    </message>
    <message>
        <source>Tasks that keep an earlier id</source>
        <translation>Aufgaben, die eine frühere Kennung behalten</translation>
    </message>
    <message>
        <source>Stretches left out as too short</source>
        <translation>Als zu kurz ausgelassene Abschnitte</translation>
    </message>
    <message>
        <source>Export changes for OpenStreetMap</source>
        <translation>Änderungen für OpenStreetMap exportieren</translation>
    </message>
    <message>
        <source>openstreetmap,osm,osc,osmchange,josm,conflation,new,missing,accepted,review,upload,line,road</source>
        <translation>openstreetmap,osm,osc,osmchange,josm,abgleich,neu,fehlend,angenommen,prüfen,hochladen,linie,straße</translation>
    </message>
    <message>
        <source>Change file</source>
        <translation>Änderungsdatei</translation>
    </message>
    <message>
        <source>New roads</source>
        <translation>Neue Straßen</translation>
    </message>
    <message>
        <source>Places where new roads join ways of the extract</source>
        <translation>Stellen, an denen neue Straßen an Wege des Auszugs anschließen</translation>
    </message>
    <message>
        <source>Ways with a new node</source>
        <translation>Wege mit einem neuen Knoten</translation>
    </message>
    <message>
        <source>Length of the new roads (m)</source>
        <translation>Länge der neuen Straßen (m)</translation>
    </message>
    <message>
        <source>Workflows</source>
        <translation>Arbeitsabläufe</translation>
    </message>
    <message>
        <source>Find changes after an event</source>
        <translation>Veränderungen nach einem Ereignis finden</translation>
    </message>
    <message>
        <source>disaster,damage,flood,earthquake,before,after,change,lost,blocked,access,deep learning,workflow,road</source>
        <translation>Katastrophe,Schaden,Hochwasser,Erdbeben,vorher,nachher,Änderung,verloren,gesperrt,Erreichbarkeit,Deep Learning,Arbeitsablauf,Straße</translation>
    </message>
    <message>
        <source>MapRoulette challenge</source>
        <translation>MapRoulette-Challenge</translation>
    </message>
    <message>
        <source>Fine-tune and map roads</source>
        <translation>Modell nachtrainieren und Straßen kartieren</translation>
    </message>
    <message>
        <source>train,learn,model,map,network,center-line,centerline,deep learning,workflow,road</source>
        <translation>trainieren,lernen,modell,karte,netz,mittellinie,achse,deep learning,arbeitsablauf,straße</translation>
    </message>
    <message>
        <source>Learn from the review</source>
        <translation>Aus der Prüfung lernen</translation>
    </message>
    <message>
        <source>review,active learning,verdict,accept,reject,improve,fine-tune,train,extract,deep learning,workflow,road</source>
        <translation>Prüfung,aktives Lernen,Urteil,annehmen,ablehnen,verbessern,nachtrainieren,trainieren,extrahieren,Deep Learning,Arbeitsablauf,Straße</translation>
    </message>
    <message>
        <source>Map roads with a model</source>
        <translation>Straßen mit einem Modell kartieren</translation>
    </message>
    <message>
        <source>map,network,center-line,centerline,predict,probability,deep learning,workflow,road</source>
        <translation>karte,netz,mittellinie,achse,vorhersage,wahrscheinlichkeit,deep learning,arbeitsablauf,straße</translation>
    </message>
    <message>
        <source>Update OSM: find new and lost roads</source>
        <translation>OSM aktualisieren: neue und verlorene Straßen finden</translation>
    </message>
    <message>
        <source>openstreetmap,change,difference,compare,missing,update,map,deep learning,workflow,road</source>
        <translation>openstreetmap,änderung,unterschied,vergleich,fehlend,aktualisieren,karte,deep learning,arbeitsablauf,straße</translation>
    </message>
    <message>
        <source>Trace road center-lines in the layer roads. In the layer aoi, add polygons in which every road is drawn. Save the edits of both layers, and run Fine-tune a model.</source>
        <translation>Zeichnen Sie im Layer roads Straßenachsen nach. Fügen Sie im Layer aoi Polygone hinzu, in denen jede Straße gezeichnet ist. Speichern Sie die Änderungen beider Layer, und führen Sie Modell nachtrainieren aus.</translation>
    </message>
    <message>
        <source>The label layers are in a temporary file that QGIS deletes when it closes. Choose a file to keep them.</source>
        <translation>Die Layer liegen in einer temporären Datei, die beim Schließen von QGIS gelöscht wird. Wählen Sie eine Datei, um sie zu behalten.</translation>
    </message>
    <message>
        <source>the extent</source>
        <translation>der Ausdehnung</translation>
    </message>
    <message>
        <source>Rectangle to get data of, such as the map's. An area of interest takes precedence. At most {area} km² are downloaded; of a file, any area is read.</source>
        <translation>Rechteck, dessen Daten geholt werden, etwa das der Karte. Ein Interessengebiet hat Vorrang. Höchstens {area} km² werden heruntergeladen; aus einer Datei wird jedes Gebiet gelesen.</translation>
    </message>
    <message>
        <source>Asking {server}</source>
        <translation>Anfrage an {server}</translation>
    </message>
    <message>
        <source>There is nothing for the layer {layer}.</source>
        <translation>Für den Layer {layer} gibt es nichts.</translation>
    </message>
    <message>
        <source>The report is {path}. Read it, and attach it to a new issue: {address}</source>
        <translation>Der Bericht ist {path}. Lesen Sie ihn durch und hängen Sie ihn an eine neue Fehlermeldung an: {address}</translation>
    </message>
    <message>
        <source>Importing the packages of the runtime</source>
        <translation>Pakete der Laufzeitumgebung werden importiert</translation>
    </message>
    <message>
        <source>Text files (*.txt)</source>
        <translation>Textdateien (*.txt)</translation>
    </message>
    <message>
        <source>RoadSeg's runtime is {python}: {version}</source>
        <translation>Die Laufzeitumgebung von RoadSeg ist {python}: {version}</translation>
    </message>
    <message>
        <source>Fine-tune a model, then extract roads. All parameters are filled in.</source>
        <translation>Trainieren Sie ein Modell nach, und extrahieren Sie dann Straßen. Alle Parameter sind ausgefüllt.</translation>
    </message>
    <message>
        <source>RoadSeg generates a scene on which you can try it. This takes less than a minute.</source>
        <translation>RoadSeg erzeugt eine Szene zum Ausprobieren. Das dauert weniger als eine Minute.</translation>
    </message>
    <message>
        <source>Fine-tune a model…</source>
        <translation>Modell nachtrainieren…</translation>
    </message>
    <message>
        <source>RoadSeg is generating the scene. The status bar shows the progress.</source>
        <translation>RoadSeg erzeugt die Szene. Die Statusleiste zeigt den Fortschritt.</translation>
    </message>
    <message>
        <source>{folder} cannot be created ({reason}).</source>
        <translation>{folder} kann nicht angelegt werden ({reason}).</translation>
    </message>
    <message>
        <source>Set up runtime…</source>
        <translation>Laufzeitumgebung einrichten…</translation>
    </message>
    <message>
        <source>Install {packages}</source>
        <translation>Installation von {packages}</translation>
    </message>
    <message>
        <source>Roads found in imagery: check them on the ground.</source>
        <translation>In Bildern gefundene Straßen: vor Ort prüfen.</translation>
    </message>
    <message>
        <source>Field sheet</source>
        <translation>Feldblatt</translation>
    </message>
    <message>
        <source>To check:</source>
        <translation>Zu prüfen:</translation>
    </message>
    <message>
        <source>Ready to extract the roads of a satellite layer.</source>
        <translation>Bereit, die Straßen eines Satellitenbilds zu extrahieren.</translation>
    </message>
    <message>
        <source>The map does not show an image. Add a satellite layer first.</source>
        <translation>Die Karte zeigt kein Bild. Fügen Sie zuerst ein Satellitenbild hinzu.</translation>
    </message>
    <message>
        <source>Extract roads in this view</source>
        <translation>Straßen in dieser Ansicht extrahieren</translation>
    </message>
    <message>
        <source>F1 on held-out blocks</source>
        <translation>F1 auf zurückgehaltenen Blöcken</translation>
    </message>
    <message>
        <source>F1 {f1:.2f} on held-out blocks</source>
        <translation>F1 {f1:.2f} auf zurückgehaltenen Blöcken</translation>
    </message>
    <message>
        <source>F1 on held-out blocks: {f1:.2f}</source>
        <translation>F1 auf zurückgehaltenen Blöcken: {f1:.2f}</translation>
    </message>
    <message>
        <source>Choose an image</source>
        <translation>Bild wählen</translation>
    </message>
    <message>
        <source>Starter model</source>
        <translation>Startmodell</translation>
    </message>
    <message>
        <source>Create new layers</source>
        <translation>Neue Layer anlegen</translation>
    </message>
    <message>
        <source>None</source>
        <translation>Keiner</translation>
    </message>
    <message>
        <source>The layer {layer} was removed. The model keeps everything that it learned from the layer. Choose another layer for drawing.</source>
        <translation>Der Layer {layer} wurde entfernt. Das Modell behält alles, was es aus ihm gelernt hat. Wählen Sie einen anderen Layer zum Zeichnen.</translation>
    </message>
    <message>
        <source>{count} drawn features of the session are missing from the layers: QGIS may have ended before they were saved.</source>
        <translation>{count} gezeichnete Objekte der Sitzung sind nicht in den Layern: QGIS wurde vielleicht beendet, bevor sie gespeichert waren.</translation>
    </message>
    <message>
        <source>Not started</source>
        <translation>Nicht gestartet</translation>
    </message>
    <message>
        <source>Choose an image, and press Start.</source>
        <translation>Wählen Sie ein Bild und drücken Sie Start.</translation>
    </message>
    <message>
        <source>Rendering</source>
        <translation>Rendern</translation>
    </message>
    <message>
        <source>Loading</source>
        <translation>Laden</translation>
    </message>
    <message>
        <source>The worker is starting and reading the model.</source>
        <translation>Der Arbeitsprozess startet und liest das Modell.</translation>
    </message>
    <message>
        <source>Your drawn features are in your layers. The model is kept as of its last checkpoint.</source>
        <translation>Ihre gezeichneten Objekte sind in Ihren Layern. Das Modell ist auf dem Stand des letzten Checkpoints gesichert.</translation>
    </message>
    <message>
        <source>Put them back</source>
        <translation>Zurückholen</translation>
    </message>
    <message>
        <source>Where to store the labels</source>
        <translation>Wohin mit dem, was gezeichnet wird</translation>
    </message>
    <message>
        <source>Creating label layers</source>
        <translation>Layer zum Zeichnen werden angelegt</translation>
    </message>
    <message>
        <source>Choose an image: a raster layer of the project.</source>
        <translation>Wählen Sie ein Bild: einen Rasterlayer des Projekts.</translation>
    </message>
    <message>
        <source>The image of the last session is not in this project. Add it, choose it and press Start.</source>
        <translation>Das Bild der letzten Sitzung ist nicht in diesem Projekt. Fügen Sie es hinzu, wählen Sie es und drücken Sie Start.</translation>
    </message>
    <message>
        <source>Continuing</source>
        <translation>Wird fortgesetzt</translation>
    </message>
    <message>
        <source>Pausing</source>
        <translation>Wird angehalten</translation>
    </message>
    <message>
        <source>Stopped</source>
        <translation>Beendet</translation>
    </message>
    <message>
        <source>The image was not rendered completely.</source>
        <translation>Das Bild wurde nicht zu Ende gerendert.</translation>
    </message>
    <message>
        <source>Ended</source>
        <translation>Abgebrochen</translation>
    </message>
    <message>
        <source>Resume continues with the learned model.</source>
        <translation>Fortsetzen macht mit dem Gelernten weiter.</translation>
    </message>
    <message>
        <source>Save the edits</source>
        <translation>Änderungen speichern</translation>
    </message>
    <message>
        <source>The visible part of {layer} is being rendered.</source>
        <translation>Der sichtbare Teil von {layer} wird gerendert.</translation>
    </message>
    <message>
        <source>Continue</source>
        <translation>Weiter</translation>
    </message>
    <message>
        <source>These layers have unsaved edits: {layers}.</source>
        <translation>Noch nicht gespeichert ist, was gezeichnet wurde: {layers}.</translation>
    </message>
    <message>
        <source>Stopping</source>
        <translation>Wird beendet</translation>
    </message>
    <message>
        <source>The current step is being finished and the model is being written.</source>
        <translation>Der laufende Schritt wird beendet und das Modell geschrieben.</translation>
    </message>
    <message>
        <source>Put back</source>
        <translation>Zurückgeholt</translation>
    </message>
    <message>
        <source>The image {layer} was removed. The session ends.</source>
        <translation>Das Bild {layer} wurde entfernt. Die Sitzung endet.</translation>
    </message>
    <message>
        <source>Accept the link</source>
        <translation>Verbindung annehmen</translation>
    </message>
    <message>
        <source>Choose a polygon layer for places without a road. Create label layers makes one.</source>
        <translation>Wählen Sie einen Polygonlayer für Stellen ohne Straße. „Layer zum Zeichnen anlegen“ erstellt einen.</translation>
    </message>
    <message>
        <source>This place is not on the image. Click within the image.</source>
        <translation>Diese Stelle liegt nicht auf dem Bild. Klicken Sie ins Bild.</translation>
    </message>
    <message>
        <source>There is nothing to correct at this place.</source>
        <translation>An dieser Stelle gibt es nichts zu korrigieren.</translation>
    </message>
    <message>
        <source>Choose a layer of drawn roads. The link is added to it.</source>
        <translation>Wählen Sie einen Layer gezeichneter Straßen. Die Verbindung wird ihm hinzugefügt.</translation>
    </message>
    <message>
        <source>Keep this model</source>
        <translation>Dieses Modell behalten</translation>
    </message>
    <message>
        <source>The session ended before the model was kept. Resume the session, then keep the model.</source>
        <translation>Die Sitzung endete, bevor das Modell behalten wurde. Setzen Sie die Sitzung fort, und behalten Sie dann das Modell.</translation>
    </message>
    <message>
        <source>Map all…</source>
        <translation>Alles kartieren…</translation>
    </message>
    <message>
        <source>The model is in {model}.</source>
        <translation>Das Modell ist in {model}.</translation>
    </message>
    <message>
        <source>The model is in {model}. F1 on held-out blocks is {f1:.2f}.</source>
        <translation>Das Modell ist in {model}. F1 auf zurückgehaltenen Blöcken ist {f1:.2f}.</translation>
    </message>
    <message>
        <source>Its training labels are in {labels}.</source>
        <translation>Woraus es gelernt hat, ist in {labels}.</translation>
    </message>
    <message>
        <source>RoadSeg live: rendering {layer}</source>
        <translation>RoadSeg live: {layer} wird gerendert</translation>
    </message>
    <message>
        <source>RoadSeg live: creating a layer for places without a road</source>
        <translation>RoadSeg live: Layer für Stellen ohne Straße wird angelegt</translation>
    </message>
    <message>
        <source>{path} cannot be written.</source>
        <translation>{path} kann nicht geschrieben werden.</translation>
    </message>
    <message>
        <source>The layer {layer} has no coordinate reference system. The image's is assumed.</source>
        <translation>Der Layer {layer} hat kein Koordinatenbezugssystem. Es wird das des Bildes angenommen.</translation>
    </message>
    <message>
        <source>Features of the layer {layer} cannot be transformed to the image's CRS and are left out.</source>
        <translation>Objekte des Layers {layer} lassen sich nicht ins KBS des Bildes transformieren und bleiben weg.</translation>
    </message>
    <message>
        <source>Some road widths in the layer {layer} are not numbers. These roads get the common width.</source>
        <translation>Einige Straßenbreiten im Layer {layer} sind keine Zahlen. Diese Straßen erhalten die übliche Breite.</translation>
    </message>
    <message>
        <source>Road probability, live</source>
        <translation>Straßenwahrscheinlichkeit, live</translation>
    </message>
    <message>
        <source>Uncertainty, live</source>
        <translation>Unsicherheit, live</translation>
    </message>
    <message>
        <source>RoadSeg live</source>
        <translation>RoadSeg live</translation>
    </message>
    <message>
        <source>Uncertainty</source>
        <translation>Unsicherheit</translation>
    </message>
    <message>
        <source>Start</source>
        <translation>Start</translation>
    </message>
    <message>
        <source>Pause</source>
        <translation>Pause</translation>
    </message>
    <message>
        <source>Stop</source>
        <translation>Beenden</translation>
    </message>
    <message>
        <source>Resume the last session</source>
        <translation>Letzte Sitzung fortsetzen</translation>
    </message>
    <message>
        <source>Keep this model…</source>
        <translation>Dieses Modell behalten…</translation>
    </message>
    <message>
        <source>Correct by clicks</source>
        <translation>Mit Klicks korrigieren</translation>
    </message>
    <message>
        <source>Click on a false road to mark “no road here”. Click on a gap to turn the proposed link into a road.</source>
        <translation>Klicken Sie auf eine falsche Straße, um „keine Straße hier“ zu markieren. Klicken Sie auf eine Lücke, um die vorgeschlagene Verbindung zur Straße zu machen.</translation>
    </message>
    <message>
        <source>Draw next, where the model is most uncertain:</source>
        <translation>Als Nächstes zeichnen, wo das Modell am unsichersten ist:</translation>
    </message>
    <message>
        <source>Stop now</source>
        <translation>Sofort beenden</translation>
    </message>
    <message>
        <source>Show</source>
        <translation>Anzeigen</translation>
    </message>
    <message>
        <source>Waiting for labels</source>
        <translation>Wartet auf Labels</translation>
    </message>
    <message>
        <source>Learning</source>
        <translation>Lernt</translation>
    </message>
    <message>
        <source>Predicting</source>
        <translation>Sagt vorher</translation>
    </message>
    <message>
        <source>Paused</source>
        <translation>Angehalten</translation>
    </message>
    <message>
        <source>Nothing new to learn</source>
        <translation>Nichts Neues zu lernen</translation>
    </message>
    <message>
        <source>Draw a road with QGIS' own tools.</source>
        <translation>Zeichnen Sie eine Straße mit den Werkzeugen von QGIS.</translation>
    </message>
    <message>
        <source>Draw where the map is wrong.</source>
        <translation>Zeichnen Sie, wo die Karte falsch ist.</translation>
    </message>
    <message>
        <source>Roads drawn: {count}</source>
        <translation>Gezeichnete Straßen: {count}</translation>
    </message>
    <message>
        <source>Place {number}</source>
        <translation>Stelle {number}</translation>
    </message>
    <message>
        <source>Step {step:,}</source>
        <translation>Schritt {step:,}</translation>
    </message>
    <message>
        <source>Last stroke learned after {seconds:.1f} s</source>
        <translation>Letzter Strich gelernt nach {seconds:.1f} s</translation>
    </message>
    <message>
        <source>{rate:.1f} steps per second</source>
        <translation>{rate:.1f} Schritte pro Sekunde</translation>
    </message>
    <message>
        <source>Trace roads</source>
        <translation>Straßen nachzeichnen</translation>
    </message>
    <message>
        <source>Try it on a generated scene</source>
        <translation>An einer erzeugten Szene ausprobieren</translation>
    </message>
    <message>
        <source>Field sheet…</source>
        <translation>Feldblatt…</translation>
    </message>
    <message>
        <source>Settings…</source>
        <translation>Einstellungen…</translation>
    </message>
    <message>
        <source>Runtime: {status}…</source>
        <translation>Laufzeitumgebung: {status}…</translation>
    </message>
    <message>
        <source>The project has no road probability.</source>
        <translation>Das Projekt hat keine Straßenwahrscheinlichkeit.</translation>
    </message>
    <message>
        <source>Run Segment roads or Extract roads with a road probability, and add it to the project.</source>
        <translation>Führen Sie „Straßen segmentieren“ oder „Straßen extrahieren“ mit einer Straßenwahrscheinlichkeit aus, und fügen Sie diese dem Projekt hinzu.</translation>
    </message>
    <message>
        <source>The review is complete: {accepted} accepted, {rejected} rejected.</source>
        <translation>Die Prüfung ist abgeschlossen: {accepted} angenommen, {rejected} abgelehnt.</translation>
    </message>
    <message>
        <source>The layer has no lines of a kind that is reviewed, so there is nothing to review.</source>
        <translation>Der Layer hat keine Linien einer Art, die geprüft wird. Daher gibt es nichts zu prüfen.</translation>
    </message>
    <message>
        <source>Some lines were deleted in the meantime. They are left out.</source>
        <translation>Einige Linien wurden inzwischen gelöscht. Sie werden ausgelassen.</translation>
    </message>
    <message>
        <source>&lt;b&gt;New road&lt;/b&gt;, {length}. Accept if the image shows a road here.</source>
        <translation>&lt;b&gt;Neue Straße&lt;/b&gt;, {length}. Nehmen Sie sie an, wenn das Bild hier eine Straße zeigt.</translation>
    </message>
    <message>
        <source>&lt;b&gt;Lost road&lt;/b&gt;, {length}. Accept if the image shows that the road no longer exists.</source>
        <translation>&lt;b&gt;Verlorene Straße&lt;/b&gt;, {length}. Nehmen Sie das an, wenn das Bild zeigt, dass es die Straße nicht mehr gibt.</translation>
    </message>
    <message>
        <source>&lt;b&gt;Displaced road&lt;/b&gt;, {length}. Accept if the image shows the road beside the line.</source>
        <translation>&lt;b&gt;Verschobene Straße&lt;/b&gt;, {length}. Nehmen Sie das an, wenn das Bild die Straße neben der Linie zeigt.</translation>
    </message>
    <message>
        <source>&lt;b&gt;Road&lt;/b&gt;, {length}. Accept if the image shows a road here.</source>
        <translation>&lt;b&gt;Straße&lt;/b&gt;, {length}. Annehmen, wenn das Bild hier eine Straße zeigt.</translation>
    </message>
    <message>
        <source>&lt;b&gt;Sampled road&lt;/b&gt;, {length}. Accept if most of it lies on a road.</source>
        <translation>&lt;b&gt;Straße der Stichprobe&lt;/b&gt;, {length}. Annehmen, wenn der größte Teil auf einer Straße liegt.</translation>
    </message>
    <message>
        <source>&lt;b&gt;Transect&lt;/b&gt;, {length}. How many roads cross it that the network lacks?</source>
        <translation>&lt;b&gt;Transekt&lt;/b&gt;, {length}. Wie viele Straßen kreuzen ihn, die dem Netz fehlen?</translation>
    </message>
    <message>
        <source>The layer is being edited. Save or discard its edits to continue the review.</source>
        <translation>Der Layer wird gerade bearbeitet. Speichern oder verwerfen Sie seine Änderungen, um die Prüfung fortzusetzen.</translation>
    </message>
    <message>
        <source>The layer {layer} was removed. The review has ended.</source>
        <translation>Der Layer {layer} wurde entfernt. Die Prüfung ist beendet.</translation>
    </message>
    <message>
        <source>The line was reviewed elsewhere in the meantime. Its answer stays.</source>
        <translation>Die Linie wurde inzwischen anderswo geprüft. Die Antwort bleibt.</translation>
    </message>
    <message>
        <source>The review is complete. Run Apply a review to get the network without the rejected parts.</source>
        <translation>Die Prüfung ist abgeschlossen. „Prüfung anwenden“ schreibt das Netz ohne das Abgelehnte.</translation>
    </message>
    <message>
        <source>Roads are hardly visible at this scale. Zoom in to at least 1:{scale} to accept a view.</source>
        <translation>Bei diesem Maßstab sind Straßen kaum zu erkennen. Zoomen Sie bis mindestens 1:{scale} hinein, um einen Ausschnitt anzunehmen.</translation>
    </message>
    <message>
        <source>There is no line under the brush.</source>
        <translation>Unter dem Pinsel ist keine Linie.</translation>
    </message>
    <message>
        <source>Lines in this view without a verdict: &lt;b&gt;{count}&lt;/b&gt;. Click each wrong line, or paint along its wrong part. Trace each missing road. Then accept the rest of the view.</source>
        <translation>Unbeurteilte Linien in diesem Ausschnitt: &lt;b&gt;{count}&lt;/b&gt;. Klicken Sie auf eine falsche Linie, oder malen Sie ihren falschen Teil nach. Zeichnen Sie fehlende Straßen nach. Dann annehmen: Der Rest des Ausschnitts stimmt.</translation>
    </message>
    <message>
        <source>Save it as a GeoPackage (Make Permanent or Export in its menu), and review that layer.</source>
        <translation>Speichern Sie ihn als GeoPackage (im Menü „Permanent machen“ oder „Export“), und prüfen Sie diesen Layer.</translation>
    </message>
    <message>
        <source>Rename the file.</source>
        <translation>Benennen Sie die Datei um.</translation>
    </message>
    <message>
        <source>Copy the network to a folder in which you can write.</source>
        <translation>Kopieren Sie das Netz in einen Ordner, in den Sie schreiben dürfen.</translation>
    </message>
    <message>
        <source>The review cannot be written to {path} ({reason}).</source>
        <translation>Die Prüfung kann nicht nach {path} geschrieben werden ({reason}).</translation>
    </message>
    <message>
        <source>The layer {layer} has no file, so its review cannot be written beside it.</source>
        <translation>Der Layer {layer} liegt in keiner Datei, neben die seine Prüfung geschrieben werden könnte.</translation>
    </message>
    <message>
        <source>Review of {layer}</source>
        <translation>Prüfung von {layer}</translation>
    </message>
    <message>
        <source>{path} is not the review of this network.</source>
        <translation>{path} ist nicht die Prüfung dieses Netzes.</translation>
    </message>
    <message>
        <source>Select a road network, changes or an accuracy sample, and choose Review.</source>
        <translation>Wählen Sie ein Straßennetz, Änderungen oder eine Stichprobe zur Genauigkeit und dann Prüfung.</translation>
    </message>
    <message>
        <source>{reviewed} of {total} reviewed, {left} left</source>
        <translation>{reviewed} von {total} geprüft, {left} übrig</translation>
    </message>
    <message>
        <source>Accept</source>
        <translation>Annehmen</translation>
    </message>
    <message>
        <source>Reject</source>
        <translation>Ablehnen</translation>
    </message>
    <message>
        <source>Skip</source>
        <translation>Überspringen</translation>
    </message>
    <message>
        <source>Back</source>
        <translation>Zurück</translation>
    </message>
    <message>
        <source>Zoom to the line</source>
        <translation>Zur Linie zoomen</translation>
    </message>
    <message>
        <source>Trace a missing road</source>
        <translation>Fehlende Straße nachzeichnen</translation>
    </message>
    <message>
        <source>Learn from the review…</source>
        <translation>Aus der Prüfung lernen…</translation>
    </message>
    <message>
        <source>Select a road network, or the result of Compare road networks or Draw an accuracy sample.</source>
        <translation>Wählen Sie ein Straßennetz oder das Ergebnis von „Straßennetze vergleichen“ oder „Genauigkeitsstichprobe ziehen“.</translation>
    </message>
    <message>
        <source>This layer is temporary, so its review can be lost. Save the layer with Make Permanent in its menu.</source>
        <translation>Dieser Layer ist temporär, daher kann seine Prüfung verloren gehen. Sichern Sie den Layer mit „Permanent machen“ in seinem Menü.</translation>
    </message>
    <message>
        <source>The layer {layer} is not a review layer: it needs lines with the field “{field}”.</source>
        <translation>Der Layer {layer} ist kein Prüflayer: Er braucht Linien mit dem Feld „{field}“.</translation>
    </message>
    <message>
        <source>No layer is selected.</source>
        <translation>Kein Layer ist ausgewählt.</translation>
    </message>
    <message>
        <source>Export the layer to a GeoPackage (its menu, Export), and review the new layer.</source>
        <translation>Exportieren Sie den Layer in ein GeoPackage (sein Menü, Export), und prüfen Sie den neuen Layer.</translation>
    </message>
    <message>
        <source>Rename the field, so that the review gets its own field.</source>
        <translation>Benennen Sie das Feld um, damit die Prüfung ein eigenes Feld bekommt.</translation>
    </message>
    <message>
        <source>Close other programs that use its file, and make room on the disk.</source>
        <translation>Schließen Sie andere Programme, die seine Datei benutzen, und schaffen Sie Platz auf dem Datenträger.</translation>
    </message>
    <message>
        <source>The layer {layer} is read-only, so the review cannot be written to it.</source>
        <translation>Der Layer {layer} ist schreibgeschützt; die Prüfung kann nicht hineingeschrieben werden.</translation>
    </message>
    <message>
        <source>The field “{field}” of the layer {layer} is not a text field.</source>
        <translation>Das Feld „{field}“ des Layers {layer} ist kein Textfeld.</translation>
    </message>
    <message>
        <source>The review cannot be written to the layer {layer} ({reason}).</source>
        <translation>Die Prüfung kann nicht in den Layer {layer} geschrieben werden ({reason}).</translation>
    </message>
    <message>
        <source>&lt;b&gt;{name}&lt;/b&gt; {value}, 95 % interval {low} to {high}</source>
        <translation>&lt;b&gt;{name}&lt;/b&gt; {value}, 95-%-Intervall {low} bis {high}</translation>
    </message>
    <message>
        <source>About {more} more places would give ±{margin} points; {left} are left.</source>
        <translation>Etwa {more} weitere Stellen ergäben ±{margin} Punkte; {left} sind übrig.</translation>
    </message>
    <message>
        <source>Places to judge before the first estimate: {count}</source>
        <translation>Bis zur ersten Schätzung zu beurteilende Stellen: {count}</translation>
    </message>
    <message>
        <source>Both are known to ±{margin} points. &lt;b&gt;Enough: you can stop.&lt;/b&gt;</source>
        <translation>Beide sind auf ±{margin} Punkte bekannt. &lt;b&gt;Genug: Sie können aufhören.&lt;/b&gt;</translation>
    </message>
    <message>
        <source>The layer says nothing of the accuracy. {reason}</source>
        <translation>Der Layer sagt nichts über die Genauigkeit. {reason}</translation>
    </message>
    <message>
        <source>This computer was suspended for {minutes} min. The session continues.</source>
        <translation>Dieser Rechner war {minutes} min im Ruhezustand. Die Sitzung geht weiter.</translation>
    </message>
    <message>
        <source>Python</source>
        <translation>Python</translation>
    </message>
    <message>
        <source>RoadSeg's own runtime</source>
        <translation>RoadSegs eigene Laufzeitumgebung</translation>
    </message>
    <message>
        <source>Models folder</source>
        <translation>Modellordner</translation>
    </message>
    <message>
        <source>No folder</source>
        <translation>Kein Ordner</translation>
    </message>
    <message>
        <source>Automatic</source>
        <translation>Automatisch</translation>
    </message>
    <message>
        <source>The Python environment in which RoadSeg computes. Set up runtime builds it. Choose another one only if it has all packages.</source>
        <translation>Die Python-Umgebung, in der RoadSeg rechnet. „Laufzeitumgebung einrichten“ baut sie. Wählen Sie nur dann eine andere, wenn sie alle Pakete hat.</translation>
    </message>
    <message>
        <source>Resources</source>
        <translation>Ressourcen</translation>
    </message>
    <message>
        <source>These apply if an algorithm's own threads and memory are 0, and its device is auto.</source>
        <translation>Diese gelten, wenn Threads und Speicher eines Algorithmus selbst 0 sind und sein Gerät auto ist.</translation>
    </message>
    <message>
        <source>Files</source>
        <translation>Dateien</translation>
    </message>
    <message>
        <source>Dialogs start with the newest model in this folder. For a model to write, they propose a new name in it.</source>
        <translation>Dialoge beginnen mit dem neuesten Modell in diesem Ordner. Für ein Modell, das geschrieben wird, schlagen sie darin einen neuen Namen vor.</translation>
    </message>
    <message>
        <source>All ({count})</source>
        <translation>Alle ({count})</translation>
    </message>
    <message>
        <source>Status</source>
        <translation>Zustand</translation>
    </message>
    <message>
        <source>Memory</source>
        <translation>Arbeitsspeicher</translation>
    </message>
    <message>
        <source>The environment variable {name} is set and takes precedence.</source>
        <translation>Die Umgebungsvariable {name} ist gesetzt und hat Vorrang.</translation>
    </message>
    <message>
        <source>Road probability to choose a threshold for:</source>
        <translation>Straßenwahrscheinlichkeit, für die ein Schwellenwert gewählt wird:</translation>
    </message>
    <message>
        <source>The lines of the whole raster are being extracted in the background.</source>
        <translation>Die Linien des ganzen Rasters werden im Hintergrund extrahiert.</translation>
    </message>
    <message>
        <source>The lines of the whole raster are in the project.</source>
        <translation>Die Linien des ganzen Rasters sind im Projekt.</translation>
    </message>
    <message>
        <source>Zoom in to see the lines.</source>
        <translation>Zoomen Sie hinein, um die Linien zu sehen.</translation>
    </message>
    <message>
        <source>The layer {layer} was removed.</source>
        <translation>Der Layer {layer} wurde entfernt.</translation>
    </message>
    <message>
        <source>More roads here</source>
        <translation>Hier mehr Straßen</translation>
    </message>
    <message>
        <source>Fewer roads here</source>
        <translation>Hier weniger Straßen</translation>
    </message>
    <message>
        <source>Undo last area</source>
        <translation>Letztes Gebiet rückgängig machen</translation>
    </message>
    <message>
        <source>Extract all lines</source>
        <translation>Alle Linien extrahieren</translation>
    </message>
    <message>
        <source>Use this threshold for</source>
        <translation>Diesen Schwellenwert verwenden für</translation>
    </message>
    <message>
        <source>Minimum probability of a road pixel</source>
        <translation>Kleinste Wahrscheinlichkeit eines Straßenpixels</translation>
    </message>
    <message>
        <source>Opens a dialog in which the advanced parameter Threshold is filled in</source>
        <translation>Öffnet einen Dialog, in dem der erweiterte Parameter Schwellenwert ausgefüllt ist</translation>
    </message>
    <message>
        <source>Drag around a part of the map, or across it for a rectangle.</source>
        <translation>Umfahren Sie einen Teil der Karte mit gedrückter Maustaste, oder ziehen Sie quer darüber ein Rechteck auf.</translation>
    </message>
    <message>
        <source>Select a road probability, and choose Threshold.</source>
        <translation>Wählen Sie eine Straßenwahrscheinlichkeit aus und dann Schwellenwert.</translation>
    </message>
    <message>
        <source>Road probability along which roads are traced:</source>
        <translation>Straßenwahrscheinlichkeit, entlang der Straßen nachgezeichnet werden:</translation>
    </message>
    <message>
        <source>The layer {layer} cannot be saved ({reason}).</source>
        <translation>Der Layer {layer} kann nicht gespeichert werden ({reason}).</translation>
    </message>
    <message>
        <source>Move the map to where it lies, or choose Trace roads again for another one.</source>
        <translation>Verschieben Sie die Karte dorthin, wo sie liegt, oder wählen Sie „Straßen nachzeichnen“ noch einmal für eine andere.</translation>
    </message>
    <message>
        <source>The layer {layer} is no longer being edited. Tracing has ended.</source>
        <translation>Der Layer {layer} wird nicht mehr bearbeitet. Das Nachzeichnen ist beendet.</translation>
    </message>
    <message>
        <source>The road probability {layer} does not cover this part of the map.</source>
        <translation>Die Straßenwahrscheinlichkeit {layer} deckt diesen Teil der Karte nicht ab.</translation>
    </message>
    <message>
        <source>The layer {layer} was removed. Tracing has ended.</source>
        <translation>Der Layer {layer} wurde entfernt. Das Nachzeichnen ist beendet.</translation>
    </message>
    <message>
        <source>{reason} Tracing has ended.</source>
        <translation>{reason} Das Nachzeichnen ist beendet.</translation>
    </message>
    <message>
        <source>Select the line layer in which the roads are to be drawn.</source>
        <translation>Wählen Sie den Linienlayer, in den die Straßen gezeichnet werden sollen.</translation>
    </message>
    <message>
        <source>Trace road</source>
        <translation>Straße nachzeichnen</translation>
    </message>
    <message>
        <source>Draw it by hand.</source>
        <translation>Zeichnen Sie sie von Hand.</translation>
    </message>
    <message>
        <source>Export the layer to a GeoPackage (its menu, Export), and draw in the new layer.</source>
        <translation>Exportieren Sie den Layer in ein GeoPackage (sein Menü, Export), und zeichnen Sie in den neuen Layer.</translation>
    </message>
    <message>
        <source>Switch its editing on (Toggle Editing), and choose Trace roads again.</source>
        <translation>Schalten Sie ihn in den Bearbeitungsmodus (Bearbeitungsstatus umschalten), und wählen Sie „Straßen nachzeichnen“ noch einmal.</translation>
    </message>
    <message>
        <source>The layer {layer} did not accept the road.</source>
        <translation>Der Layer {layer} hat die Straße nicht angenommen.</translation>
    </message>
    <message>
        <source>The layer {layer} has no lines.</source>
        <translation>Der Layer {layer} hat keine Linien.</translation>
    </message>
    <message>
        <source>The layer {layer} is read-only, so no roads can be drawn in it.</source>
        <translation>Der Layer {layer} ist schreibgeschützt; es können keine Straßen hineingezeichnet werden.</translation>
    </message>
    <message>
        <source>The layer {layer} is not being edited.</source>
        <translation>Der Layer {layer} wird nicht bearbeitet.</translation>
    </message>
    <message>
        <source>Generated scene</source>
        <translation>Erzeugte Szene</translation>
    </message>
    <message>
        <source>RoadSeg demo</source>
        <translation>RoadSeg-Demo</translation>
    </message>
    <message>
        <source>(no class)</source>
        <translation>(keine Klasse)</translation>
    </message>
    <message>
        <source>Road class</source>
        <translation>Straßenklasse</translation>
    </message>
    <message>
        <source>Width (m)</source>
        <translation>Breite (m)</translation>
    </message>
    <message>
        <source>Sure that it is a road</source>
        <translation>Sicher, dass es eine Straße ist</translation>
    </message>
    <message>
        <source>Fields were renamed in {layer}: {renamed}</source>
        <translation>Felder wurden in {layer} umbenannt: {renamed}</translation>
    </message>
    <message>
        <source>The style file next to {file} cannot be written ({reason}).</source>
        <translation>Der Stil kann nicht neben {file} geschrieben werden ({reason}).</translation>
    </message>
    <message>
        <source>Further lines of output are omitted.</source>
        <translation>Weitere Ausgabezeilen werden ausgelassen.</translation>
    </message>
    <message>
        <source>{reason} It is asked once more in {seconds} s.</source>
        <translation>{reason} In {seconds} s wird noch einmal gefragt.</translation>
    </message>
    <message>
        <source>The answer of {server} is of no use: {fault}.</source>
        <translation>Die Antwort von {server} ist unbrauchbar: {fault}.</translation>
    </message>
    <message>
        <source>{server} cannot be reached: {reason}.</source>
        <translation>{server} ist nicht erreichbar: {reason}.</translation>
    </message>
    <message>
        <source>{server} is busy (HTTP {status}).</source>
        <translation>{server} ist ausgelastet (HTTP {status}).</translation>
    </message>
    <message>
        <source>{server} sent nothing for {seconds} s.</source>
        <translation>{server} hat {seconds} s lang nichts gesendet.</translation>
    </message>
    <message>
        <source>{server} refuses (HTTP {status}).</source>
        <translation>{server} lehnt ab (HTTP {status}).</translation>
    </message>
    <message>
        <source>settings</source>
        <translation>Einstellungen</translation>
    </message>
    <message>
        <source>ready ({packages})</source>
        <translation>bereit ({packages})</translation>
    </message>
    <message>
        <source>missing ({packages})</source>
        <translation>fehlt ({packages})</translation>
    </message>
    <message>
        <source>of another version of RoadSeg</source>
        <translation>von einer anderen Version von RoadSeg</translation>
    </message>
    <message>
        <source>missing</source>
        <translation>fehlt</translation>
    </message>
    <message>
        <source>The setting {key} is {value}, which is beyond its limits. {taken} is used instead.</source>
        <translation>Die Einstellung {key} ist {value} und überschreitet ihre Grenzen. Stattdessen wird {taken} verwendet.</translation>
    </message>
    <message>
        <source>The setting {key} is {text}, which is no device. The setting is ignored.</source>
        <translation>Die Einstellung {key} ist {text}. Das ist kein Gerät; die Einstellung wird ignoriert.</translation>
    </message>
    <message>
        <source>{path} is not an executable file. Choose a Python interpreter, or leave the field empty.</source>
        <translation>{path} ist keine ausführbare Datei. Wählen Sie einen Python-Interpreter, oder lassen Sie das Feld leer.</translation>
    </message>
    <message>
        <source>{path} is not a folder. Choose another folder, or leave the field empty.</source>
        <translation>{path} ist kein Ordner. Wählen Sie einen anderen Ordner, oder lassen Sie das Feld leer.</translation>
    </message>
    <message>
        <source>The setting {key} is {text}, which is not a number. The setting is ignored.</source>
        <translation>Die Einstellung {key} ist {text}. Das ist keine Zahl; die Einstellung wird ignoriert.</translation>
    </message>
    <message>
        <source>Fields of {layer} are renamed in the results: {renamed}</source>
        <translation>Felder von {layer} werden in den Ergebnissen umbenannt: {renamed}</translation>
    </message>
    <message>
        <source>{layer} has a field {field}. If you want to use it, choose it as {label}.</source>
        <translation>{layer} hat ein Feld {field}. Wählen Sie es als {label}, wenn es verwendet werden soll.</translation>
    </message>
    <message>
        <source>Stopped as requested. The best model so far is in {files}</source>
        <translation>Wie gewünscht angehalten. Das bisher beste Modell liegt in {files}</translation>
    </message>
</context>
</TS>
